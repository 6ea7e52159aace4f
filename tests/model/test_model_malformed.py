"""Malformed models: each is refused with one sentence that names the offender."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from rcpomdp.errors import InputError, ModelError
from rcpomdp.model import CPOMDP

# A rover drives out of the rocks or waits; once out, it is done.
GOOD = {
    "transition": np.array(
        [
            [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]],
            [[0.75, 0.25, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ]
    ),
    "observation": np.array([[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], [[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]]]),
    "reward": np.array([[12.0, 0.0], [12.0, -1.0], [0.0, 0.0]]),
    "cost": np.array([[[10.0, 1.0], [4.0, 1.0], [0.0, 0.0]], [[3.0, 0.0], [1.0, 0.0], [0.0, 0.0]]]),
    "initial_belief": np.array([0.5, 0.5, 0.0]),
    "discount": 0.9,
    "budget": np.array([5.0, 2.0]),
    "states": ["rocky", "clear", "out"],
    "actions": ["drive", "wait"],
    "observations": ["bump", "smooth"],
    "costs": ["fuel", "wear"],
    "terminal": ["out"],
}


def put(key, index, value):
    """The good model's array with other numbers at one index."""
    array = np.array(GOOD[key], dtype=complex if isinstance(value, complex) else float)
    array[index] = value
    return {key: array}


def put_sparse(key, index, value):
    """The same as a list of sparse matrices."""
    return {key: [sp.csr_array(m) for m in put(key, index, value)[key]]}


def put_object(key, index, value):
    """The good model's array as objects, one of them not a number."""
    array = GOOD[key].astype(object)
    array[index] = value
    return {key: array}


def broken_csr(dense, **attributes):
    """A sparse matrix whose attributes were changed after it was made, which scipy does not check."""
    matrix = sp.csr_array(dense)
    for name, value in attributes.items():
        setattr(matrix, name, np.array(value, dtype=np.int32))
    return matrix


T, Z, R, C = GOOD["transition"], GOOD["observation"], GOOD["reward"], GOOD["cost"]
INF, NAN = np.inf, np.nan
DRIVE_IN_ROCKS = "transition of state 'rocky' under action 'drive'"
REWARD_SHAPES = "by [s, a], [s, a, s'] or [s, a, s', o] it should be (3, 2), (3, 2, 3) or (3, 2, 3, 2)"
MUST_STAY = "must keep to itself without reward or cost under every action"

MALFORMED = [
    # Transitions: numbers
    (put("transition", (0, 0, 2), 0.48), f"{DRIVE_IN_ROCKS} sums to 0.98, not 1"),
    (put("transition", (0, 0), 0), f"{DRIVE_IN_ROCKS} sums to 0, not 1"),
    (
        put("transition", (1, 2, 2), 1 - 1.1e-5),
        "transition of state 'out' under action 'wait' sums to 0.999989, not 1",
    ),
    (put_sparse("transition", (1, 1), 0), "transition of state 'clear' under action 'wait' sums to 0, not 1"),
    (
        put("transition", (0, 0, 1), NAN),
        f"{DRIVE_IN_ROCKS} gives 'clear' probability nan, which is not a number",
    ),
    (
        put_sparse("transition", (0, 0, 1), NAN),
        f"{DRIVE_IN_ROCKS} gives 'clear' probability nan, which is not a number",
    ),
    (
        put("transition", (0, 0), [-0.5, 1, 0.5]),
        f"{DRIVE_IN_ROCKS} gives 'rocky' probability -0.5, which is below 0",
    ),
    (
        put("transition", (1, 1, 1), 1.5),
        "transition of state 'clear' under action 'wait' gives 'clear' probability 1.5, which is above 1",
    ),
    (put("transition", (0, 0, 2), INF), f"{DRIVE_IN_ROCKS} gives 'out' probability inf, which is above 1"),
    (put("transition", (0, 0, 2), -INF), f"{DRIVE_IN_ROCKS} gives 'out' probability -inf, which is below 0"),
    (
        put_object("transition", (0, 0, 1), None),
        f"{DRIVE_IN_ROCKS} gives 'clear' probability nan, which is not a number",
    ),
    (
        put_object("transition", (0, 0, 1), "x"),
        f"{DRIVE_IN_ROCKS} gives 'clear' probability nan, which is not a number",
    ),
    (
        put_object("transition", (0, 0, 1), 10**400),
        f"{DRIVE_IN_ROCKS} gives 'clear' probability inf, which is above 1",
    ),
    (
        put_object("transition", (0, 0, 1), -(10**400)),
        f"{DRIVE_IN_ROCKS} gives 'clear' probability -inf, which is below 0",
    ),
    # Observations: numbers
    (
        put("observation", (1, 0, 0), 0.5),
        "observation of state 'rocky' under action 'wait' sums to 0.9, not 1",
    ),
    (
        put("observation", (0, 2, 0), NAN),
        "observation of state 'out' under action 'drive' gives 'bump' probability nan, which is not a number",
    ),
    (
        put("observation", (0, 1), [-0.25, 1.25]),
        "observation of state 'clear' under action 'drive' gives 'bump' probability -0.25, which is below 0",
    ),
    (
        put("observation", (0, 1), [0.0, 1.25]),
        "observation of state 'clear' under action 'drive' gives 'smooth' probability 1.25, which is above 1",
    ),
    (
        put("observation", (1, 2, 0), INF),
        "observation of state 'out' under action 'wait' gives 'bump' probability inf, which is above 1",
    ),
    # Transitions and observations: shapes and types
    ({"transition": None}, "transition is not an array of real numbers (its dtype is object)"),
    ({"transition": "drive"}, "transition is not an array of real numbers (its dtype is <U5)"),
    ({"transition": 5}, "transition has 0 dimensions, not the 3 of [action, from, to]"),
    ({"transition": T[0]}, "transition has 2 dimensions, not the 3 of [action, from, to]"),
    ({"transition": T[0].tolist()}, "transition of action 0 has 1 dimension, not the 2 of [from, to]"),
    ({"transition": T[None]}, "transition has 4 dimensions, not the 3 of [action, from, to]"),
    (
        {"transition": sp.csr_array(T[0])},
        "transition is one sparse matrix; give a list of them, one per action",
    ),
    (
        {"observation": sp.coo_matrix(Z[0])},
        "observation is one sparse matrix; give a list of them, one per action",
    ),
    ({"transition": []}, "transition has no action"),
    ({"observation": np.zeros((0, 3, 2))}, "observation has no action"),
    (
        {"transition": [T[0], None]},
        "transition of action 1 is not an array of real numbers (its dtype is object)",
    ),
    (
        {"transition": T.astype(complex)},
        "transition is not an array of real numbers (its dtype is complex128)",
    ),
    (
        {"transition": [sp.csr_array(T[0]), sp.csr_array(T[1] * 1j)]},
        "transition of action 1 is not an array of real numbers (its dtype is complex128)",
    ),
    ({"observation": Z.astype(str)}, "observation is not an array of real numbers (its dtype is <U32)"),
    (
        {"transition": [T[0], [[1, 0, 0], [0, 1], [0, 0, 1]]]},
        "transition of action 1 is ragged: its rows have different lengths",
    ),
    ({"transition": T[:1]}, "observation has 2 actions, but transition has 1"),
    ({"observation": [*Z, Z[0]]}, "observation has 3 actions, but transition has 2"),
    ({"transition": T[:, :2]}, "transition of action 0 has shape (2, 3), not (2, 2)"),
    ({"transition": [T[0], np.eye(2)]}, "transition of action 1 has shape (2, 2), not (3, 3)"),
    (
        {"transition": [sp.csr_array(T[0]), sp.eye_array(4)]},
        "transition of action 1 has shape (4, 4), not (3, 3)",
    ),
    ({"observation": Z[:, :2]}, "observation of action 0 has shape (2, 2), not (3, 2)"),
    ({"observation": [Z[0], np.ones((3, 1))]}, "observation of action 1 has shape (3, 1), not (3, 2)"),
    (
        {"transition": np.zeros((2, 0, 0))},
        "the model has 0 states and 2 observations; each needs at least one",
    ),
    (
        {"observation": np.zeros((2, 3, 0))},
        "the model has 3 states and 0 observations; each needs at least one",
    ),
    (
        {"transition": [broken_csr(T[0], indices=[0, 2, 2, 3]), T[1]]},
        "transition of action 0 is not a well-formed sparse matrix: indices must be < 3",
    ),
    (
        {"transition": [T[0], broken_csr(T[1], indices=[0, -1, 1, 2])]},
        "transition of action 1 is not a well-formed sparse matrix: indices must be >= 0",
    ),
    # Rewards
    (put("reward", (1, 0), NAN), "reward of state 'clear' under action 'drive' is not a number"),
    (put("reward", (0, 1), INF), "reward of state 'rocky' under action 'wait' is infinite"),
    (put("reward", (0, 1), -INF), "reward of state 'rocky' under action 'wait' is infinite"),
    (put_object("reward", (2, 1), None), "reward of state 'out' under action 'wait' is not a number"),
    (put_object("reward", (2, 1), 10**400), "reward of state 'out' under action 'wait' is infinite"),
    ({"reward": np.full((3, 2, 3), NAN)}, "reward of state 'rocky' under action 'drive' is not a number"),
    ({"reward": R.T}, f"reward has shape (2, 3); {REWARD_SHAPES}"),
    ({"reward": 1.0}, f"reward has shape (); {REWARD_SHAPES}"),
    ({"reward": np.zeros((3, 2, 2))}, f"reward has shape (3, 2, 2); {REWARD_SHAPES}"),
    ({"reward": np.zeros((3, 2, 3, 2, 1))}, f"reward has shape (3, 2, 3, 2, 1); {REWARD_SHAPES}"),
    ({"reward": [[1, 2], [3]]}, "reward is ragged: its rows have different lengths"),
    ({"reward": None}, "reward is not an array of real numbers (its dtype is object)"),
    ({"reward": sp.csr_array(R)}, "reward is a sparse matrix; give a dense array"),
    ({"reward": R * 1j}, "reward is not an array of real numbers (its dtype is complex128)"),
    # Costs
    (put("cost", (1, 0, 1), -0.5), "wear of state 'rocky' under action 'wait' is -0.5, below 0"),
    (put("cost", (0, 1, 0), NAN), "fuel of state 'clear' under action 'drive' is not a number"),
    (put("cost", (1, 1, 0), INF), "wear of state 'clear' under action 'drive' is infinite"),
    ({"cost": C[:, :2]}, f"fuel has shape (2, 2); {REWARD_SHAPES}"),
    ({"cost": C[0, 0]}, "cost has 1 dimension; give C[s, a] or C[k, s, a]"),
    ({"cost": 1.0}, "cost has 0 dimensions; give C[s, a] or C[k, s, a]"),
    ({"cost": np.zeros((2, 3, 2, 3, 2, 1))}, "cost has 6 dimensions; give C[s, a] or C[k, s, a]"),
    ({"cost": [C[0], C[1, :2]]}, "cost is ragged: its rows have different lengths"),
    ({"cost": [["free", "free"]]}, "cost is not an array of real numbers (its dtype is <U4)"),
    (
        {"cost": np.where(np.arange(3) == 1, -1.0, 0.0) * np.ones((2, 3, 2, 1))},
        "fuel of state 'rocky' under action 'drive' is -1, below 0",
    ),
    # Discount
    ({"discount": 1.5}, "discount is 1.5, outside [0, 1]"),
    ({"discount": -0.1}, "discount is -0.1, outside [0, 1]"),
    ({"discount": NAN}, "discount is nan, outside [0, 1]"),
    ({"discount": 10**400}, "discount is inf, outside [0, 1]"),
    ({"discount": "x"}, "discount is 'x', not a number"),
    ({"discount": "0.5"}, "discount is '0.5', not a number"),
    ({"discount": None}, "discount is None, not a number"),
    ({"discount": 0.5j}, "discount is 0.5j, not a number"),
    ({"discount": [0.5]}, "discount is [0.5], not a number"),
    # Initial belief
    (put("initial_belief", 2, 0.1), "initial belief sums to 1.1, not 1"),
    ({"initial_belief": {}}, "initial belief sums to 0, not 1"),
    ({"initial_belief": [-0.5, 1, 0.5]}, "initial belief gives 'rocky' probability -0.5, which is below 0"),
    ({"initial_belief": [0, 1.5, 0]}, "initial belief gives 'clear' probability 1.5, which is above 1"),
    (
        {"initial_belief": [0.5, 0.5, NAN]},
        "initial belief gives 'out' probability nan, which is not a number",
    ),
    ({"initial_belief": [0.5, 0.5]}, "initial belief has shape (2,), not (3,)"),
    ({"initial_belief": [[0.5, 0.5, 0]]}, "initial belief has shape (1, 3), not (3,)"),
    ({"initial_belief": 1.0}, "initial belief has shape (), not (3,)"),
    ({"initial_belief": "rocky"}, "initial belief is not an array of real numbers (its dtype is <U5)"),
    (
        {"initial_belief": {"rokcy": 1}},
        "initial belief: state 'rokcy' is not declared; did you mean 'rocky'?",
    ),
    ({"initial_belief": {"out": "half"}}, "initial belief gives 'out' probability 'half', not a number"),
    ({"initial_belief": {"out": None}}, "initial belief gives 'out' probability None, not a number"),
    ({"initial_belief": {"out": [1]}}, "initial belief gives 'out' probability [1], not a number"),
    ({"initial_belief": {"out": 10**400}}, "initial belief gives 'out' probability inf, which is above 1"),
    # Budget
    ({"budget": 5}, "budget has length 1, but the model has 2 costs"),
    ({"budget": [1, 2, 3]}, "budget has length 3, but the model has 2 costs"),
    ({"budget": []}, "budget has length 0, but the model has 2 costs"),
    ({"budget": [1, 2], "cost": C[0], "costs": ["fuel"]}, "budget has length 2, but the model has 1 cost"),
    ({"budget": 5, "cost": None, "costs": None}, "budget has length 1, but the model has 0 costs"),
    ({"budget": [5, -1]}, "budget of 'wear' is -1, below 0"),
    ({"budget": [NAN, 2]}, "budget of 'fuel' is not a number"),
    ({"budget": [5, {}]}, "budget of 'wear' is not a number"),
    ({"budget": "5"}, "budget is '5', a text and not a number"),
    ({"budget": {"fuel": -5}}, "budget of 'fuel' is -5, below 0"),
    ({"budget": {"fule": 5}}, "budget: cost 'fule' is not declared; did you mean 'fuel'?"),
    ({"budget": {5}}, "budget is not an array of real numbers (its dtype is object)"),
    # Labels
    ({"states": ["rocky", "clear", "rocky"]}, "state 'rocky' is declared twice"),
    ({"actions": ["wait", "wait"]}, "action 'wait' is declared twice"),
    ({"observations": [1, True]}, "observation True is declared twice"),
    ({"costs": ["fuel", "fuel"]}, "cost 'fuel' is declared twice"),
    ({"states": ["rocky", "out"]}, "2 state labels given for 3 states"),
    ({"actions": ["drive"]}, "1 action label given for 2 actions"),
    ({"observations": "bump"}, "4 observation labels given for 2 observations"),
    ({"costs": ["fuel"]}, "1 cost label given for 2 costs"),
    ({"cost": None, "budget": None}, "2 cost labels given for 0 costs"),
    ({"states": ["rocky", ["clear"], "out"]}, "state 1 has the label ['clear'], which cannot be hashed"),
    ({"actions": [{}, "wait"]}, "action 0 has the label {}, which cannot be hashed"),
    ({"states": 3}, "state labels are 3, not a list"),
    ({"observations": np.array(2)}, "observation labels are array(2), not a list"),
    # Terminal states
    ({"terminal": ["clear"]}, f"terminal state 'clear' {MUST_STAY}"),
    ({"terminal": np.array([False, True, True])}, f"terminal state 'clear' {MUST_STAY}"),
    ({"terminal": [True, False, False]}, f"terminal state 'rocky' {MUST_STAY}"),
    (put("transition", (1, 2), [0.5, 0, 0.5]), f"terminal state 'out' {MUST_STAY}"),
    (put("reward", (2, 0), 1e-9), f"terminal state 'out' {MUST_STAY}"),
    (put("cost", (1, 2, 1), 1e-9), f"terminal state 'out' {MUST_STAY}"),
    ({"terminal": ["uot"]}, "terminal: state 'uot' is not declared; did you mean 'out'?"),
    ({"terminal": "out"}, "terminal is 'out', not a list"),
    ({"terminal": 2}, "terminal is 2, not a list"),
    ({"terminal": np.array([True])}, "terminal mask has length 1, but the model has 3 states"),
]


def test_the_good_model_is_good():
    model = CPOMDP(**GOOD)
    assert model.n_states == 3
    assert model.terminal.tolist() == [False, False, True]


@pytest.mark.parametrize(("changes", "message"), MALFORMED, ids=[message[:70] for _, message in MALFORMED])
def test_malformed_models_are_refused_with_a_sentence(changes, message):
    with pytest.raises(ModelError) as error:
        CPOMDP(**(GOOD | changes))
    assert str(error.value) == message
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_every_sentence_is_one_line_without_a_full_stop():
    for _, message in MALFORMED:
        assert re.fullmatch(r"[^\n]*[^.\n]", message)


def test_a_model_error_is_a_value_error():
    assert issubclass(ModelError, InputError)
    assert issubclass(InputError, ValueError)


RELATIVES = [
    ("with_budget", 5, "budget has length 1, but the model has 2 costs"),
    ("with_budget", [1, -2], "budget of 'wear' is -2, below 0"),
    ("with_budget", [NAN, 2], "budget of 'fuel' is not a number"),
    ("with_budget", "low", "budget is 'low', a text and not a number"),
    ("with_initial_belief", [0.5, 0.5], "initial belief has shape (2,), not (3,)"),
    ("with_initial_belief", [0.5, 0.25, 0.125], "initial belief sums to 0.875, not 1"),
    ("with_initial_belief", [2, -1, 0], "initial belief gives 'rocky' probability 2, which is above 1"),
    (
        "with_initial_belief",
        {"clera": 1},
        "initial belief: state 'clera' is not declared; did you mean 'clear'?",
    ),
    ("with_initial_belief", {"clear": "1"}, "initial belief gives 'clear' probability '1', not a number"),
    ("with_initial_belief", None, "initial belief is not an array of real numbers (its dtype is object)"),
    ("scalarised", 1, "weights have length 1, but the model has 2 costs"),
    ("scalarised", [1, 2, 3], "weights have length 3, but the model has 2 costs"),
    ("scalarised", [1, NAN], "weight 1 is not a finite number"),
    ("scalarised", [INF, 1], "weight 0 is not a finite number"),
    ("scalarised", [1, None], "weight 1 is not a finite number"),
    ("scalarised", None, "weight vector is not an array of real numbers (its dtype is object)"),
    ("scalarised", [[1], [2, 3]], "weight vector is ragged: its rows have different lengths"),
]


@pytest.mark.parametrize(("method", "argument", "message"), RELATIVES)
def test_malformed_relatives_are_refused_with_a_sentence(method, argument, message):
    with pytest.raises(ModelError) as error:
        getattr(CPOMDP(**GOOD), method)(argument)
    assert str(error.value) == message


ODD = [
    None, "", "x", b"x", 0, -1, 1.5, NAN, INF, 10**400, 1j, True, object(), int, slice(2), ..., range(2),
    set(), (), [], [[]], [[[]]], [None], [[None]], [[[None]]], [["x"]], [[[1, 2], 3]], {}, [{}],
    {"rocky": {}}, {None: 1}, np.array(None), np.array("x"), np.array(1.0), np.zeros(0),
    np.zeros((2, 0, 2)), np.zeros((2, 3, 0)), np.zeros(2, dtype=[("a", int)]),
    np.array([1, 2], dtype="m8[s]"), np.datetime64("2020-01-01"), sp.csr_array(np.eye(3)),
    sp.csr_array((0, 0)), [sp.csr_array((0, 0))], sp.coo_array(np.ones(3)),
    [sp.coo_array(np.ones(3))] * 2, np.array([sp.eye_array(3)] * 2, dtype=object), memoryview(b"ab"),
]  # fmt: skip


def refusals(make):
    """How many odd values are refused; any exception but a ModelError goes through."""
    count = 0
    for value in ODD:
        try:
            make(value)
        except ModelError:
            count += 1
    return count


@pytest.mark.parametrize("argument", [*GOOD])
def test_whatever_is_given_it_is_a_model_or_a_sentence(argument):
    """No NumPy or SciPy error, and no warning (they are errors here), for any odd value of any argument."""
    assert refusals(lambda value: CPOMDP(**(GOOD | {argument: value}))) > len(ODD) // 2


@pytest.mark.parametrize("method", ["with_budget", "with_initial_belief", "scalarised"])
def test_whatever_is_given_to_a_relative_it_is_a_model_or_a_sentence(method):
    assert refusals(getattr(CPOMDP(**GOOD), method)) > len(ODD) // 2


def test_probabilities_that_vanish_when_multiplied_are_refused() -> None:
    rare = [[1.0 - 1e-200, 1e-200], [0.0, 1.0]]
    parts = {"reward": [[1.0], [0.0]], "initial_belief": [1.0, 0.0], "discount": 0.5}
    with pytest.raises(ModelError, match="1e-200 times observation probability 1e-200 is too small"):
        CPOMDP(transition=[rare], observation=[rare], **parts)
    CPOMDP(transition=[rare], observation=[np.eye(2)], **parts)
