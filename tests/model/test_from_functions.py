"""CPOMDP.from_functions: the same model as by arrays, and a sentence for what cannot be one."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp.errors import ModelError
from rcpomdp.model import CPOMDP
from strategies import Dense, cpomdps

quick = settings(derandomize=True, deadline=None, max_examples=60)


# The same model, written twice


def functions_of(case: Dense) -> dict:
    """A model as functions over tuples, texts and numbers that look its arrays up."""
    states = [("cell", s) for s in range(case.model.n_states)]
    actions = [f"go{a}" for a in range(case.model.n_actions)]
    observations = list(range(case.model.n_observations))

    def transition(s, a):
        return {states[t]: p for t, p in enumerate(case.T[actions.index(a), s[1]]) if p > 0}

    def observation(a, s):
        return dict(enumerate(case.Z[actions.index(a), s[1]]))  # zeros may be given

    return {
        "states": states,
        "actions": actions,
        "observations": observations,
        "transition": transition,
        "observation": observation,
        "reward": lambda s, a: case.R[s[1], actions.index(a)],
        "cost": [lambda s, a, k=k: case.C[k, s[1], actions.index(a)] for k in range(case.model.n_costs)],
        "initial": {states[s]: p for s, p in enumerate(case.model.initial_belief)},
        "discount": case.model.discount,
        "budget": case.model.budget,
    }


@quick
@given(cpomdps())
def test_functions_and_arrays_give_the_same_model(case: Dense):
    model = CPOMDP.from_functions(**functions_of(case))
    assert model.fingerprint == case.model.fingerprint
    assert_array_equal(model.budget, case.model.budget)
    assert_array_equal(model.terminal, case.model.terminal)
    assert list(model.states) == [("cell", s) for s in range(case.model.n_states)]


@quick
@given(cpomdps(n_costs=2), st.sampled_from([2, 3, 4]), st.booleans())
def test_rewards_and_costs_of_each_arity(case: Dense, arity: int, together: bool):
    """Functions of (s, a), (s, a, s') and (s, a, s', o) agree with arrays over the same arguments."""
    n_actions, n_states, n_observations = case.Z.shape
    shape = (n_states, n_actions, n_states, n_observations)[:arity]
    reward = np.cos(np.arange(np.prod(shape))).reshape(shape)
    cost = np.abs(np.sin(np.arange(2 * np.prod(shape)))).reshape(2, *shape)
    parts = functions_of(case)
    actions = parts["actions"]

    def index(s, a, arrived=None, o=None):
        return (s[1], actions.index(a), arrived[1] if arrived else None, o)[:arity]

    takes = {
        2: lambda f: lambda s, a: f(index(s, a)),
        3: lambda f: lambda s, a, t: f(index(s, a, t)),
        4: lambda f: lambda s, a, t, o: f(index(s, a, t, o)),
    }[arity]
    parts["reward"] = takes(lambda i: reward[i])
    if together:
        parts["cost"] = takes(lambda i: [cost[(0, *i)], cost[(1, *i)]])
    else:
        parts["cost"] = [takes(lambda i: cost[(0, *i)]), takes(lambda i: cost[(1, *i)])]
    model = CPOMDP.from_functions(**parts)
    arrays = CPOMDP(
        transition=case.T,
        observation=case.Z,
        reward=reward,
        cost=cost,
        initial_belief=case.model.initial_belief,
        discount=0.5,
    )
    assert_allclose(model.reward, arrays.reward, atol=1e-13)
    assert_allclose(model.cost, arrays.cost, atol=1e-13)


# A corridor: go right to the exit, or look

STATES = ["left", "right", "exit"]


def move(s, a):
    if a == "look":
        return {s: 1.0}
    return {"right": 1.0} if s == "left" else {"exit": 0.75, "left": 0.25}


def see(a, s):
    return {"dark": 0.5, "light": 0.5} if s == "left" else {"light": 1.0}


def corridor(**changes) -> CPOMDP:
    parts = {
        "states": STATES,
        "actions": ["go", "look"],
        "observations": ["dark", "light"],
        "transition": move,
        "observation": see,
        "reward": lambda s, a: 1.0 if a == "go" else 0.0,
        "terminal": ["exit"],
    }
    return CPOMDP.from_functions(**(parts | changes))


def test_positional_arguments_follow_the_definition():
    model = CPOMDP.from_functions(
        STATES, ["go", "look"], ["dark", "light"], move, see,
        lambda s, a: 1.0, lambda s, a: 2.0, {"left": 1}, 0.5, 3,
        terminal=["exit"], costs=["fuel"], name="corridor",
    )  # fmt: skip
    assert repr(model) == "CPOMDP 'corridor': 3 states, 2 actions, 2 observations, 1 cost, discount 0.5, budget 3"
    assert list(model.costs) == ["fuel"]
    assert_array_equal(model.cost, [[[2, 2], [2, 2], [0, 0]]])
    assert_array_equal(model.initial_belief, [1, 0, 0])


def test_defaults():
    model = corridor()
    assert model.discount == 0.95
    assert model.n_costs == 0
    assert model.name == ""


@pytest.mark.parametrize("terminal", [["exit"], {"exit"}, lambda s: s == "exit", np.array([False, False, True])])
def test_the_initial_belief_is_uniform_over_states_that_are_not_terminal(terminal):
    assert_array_equal(corridor(terminal=terminal).initial_belief, [0.5, 0.5, 0.0])


def test_the_initial_belief_is_uniform_over_all_states_if_none_is_terminal():
    model = corridor(terminal=(), transition=lambda s, a: {s: 1})
    assert_array_equal(model.initial_belief, np.full(3, 1 / 3))


@pytest.mark.parametrize("initial", [{"right": 1}, [0, 1, 0], {"right": 1.0, "left": 0}])
def test_the_initial_belief_may_be_a_mapping_or_a_vector(initial):
    assert_array_equal(corridor(initial=initial).initial_belief, [0, 1, 0])


def test_every_state_may_be_terminal_if_a_belief_is_given():
    model = corridor(terminal=STATES, initial={"left": 1}, cost=lambda s, a: 1.0)
    assert model.terminal.all()
    assert_array_equal(model.reward, np.zeros((3, 2)))
    assert_array_equal(model.cost, np.zeros((1, 3, 2)))
    assert_array_equal([t.toarray() for t in model.transition], [np.eye(3)] * 2)


@pytest.mark.parametrize("terminal", [["exit"], lambda s: s == "exit"], ids=["list", "predicate"])
@pytest.mark.parametrize("arity", [2, 3, 4])
def test_functions_are_not_called_in_terminal_states(terminal, arity):
    moved, paid, spent = [], [], []

    def transition(s, a):
        moved.append(s)
        return move(s, a)

    def recording(value, calls):
        """A function of as many arguments that returns the value and keeps the state."""
        return {
            2: lambda s, a: calls.append(s) or value,
            3: lambda s, a, t: calls.append(s) or value,
            4: lambda s, a, t, o: calls.append(s) or value,
        }[arity]

    model = corridor(terminal=terminal, transition=transition, reward=recording(1.0, paid), cost=recording(2.0, spent))
    for called in (moved, paid, spent):
        assert set(called) == {"left", "right"}
    assert_array_equal(model.terminal, [False, False, True])
    assert_array_equal(model.reward, [[1, 1], [1, 1], [0, 0]])
    assert_array_equal(model.cost, [[[2, 2], [2, 2], [0, 0]]])
    assert_array_equal(model.transition[0].toarray()[2], [0, 0, 1])


def test_observations_of_terminal_states_may_be_left_out():
    model = corridor(observation=lambda a, s: None if s == "exit" else {"light": 1})
    assert_array_equal(model.observation[0].toarray(), [[0, 1], [0, 1], [1, 0]])


def test_observations_of_terminal_states_may_be_given():
    model = corridor(observation=lambda a, s: {"light": 1.0})
    assert_array_equal(model.observation[1].toarray(), [[0, 1], [0, 1], [0, 1]])


def test_terminal_states_are_found_without_being_declared():
    model = corridor(
        terminal=(),
        transition=lambda s, a: {"exit": 1} if s == "exit" else move(s, a),
        reward=lambda s, a: s != "exit",
    )
    assert_array_equal(model.terminal, [False, False, True])


def test_a_mask_is_not_taken_for_labels():
    """True equals 1, so that a mask over states 0, 1, 2 could be read as the states 0 and 1."""
    model = corridor(
        states=[0, 1, 2],
        transition=lambda s, a: {2: 1},
        observation=lambda a, s: {"dark": 1},
        terminal=[False, False, True],
    )
    assert_array_equal(model.terminal, [False, False, True])
    assert_array_equal(model.initial_belief, [0.5, 0.5, 0.0])


# Costs


@pytest.mark.parametrize("cost", [None, [], ()])
def test_no_cost(cost):
    assert corridor(cost=cost).cost.shape == (0, 3, 2)


@pytest.mark.parametrize(
    "cost",
    [
        lambda s, a: 2,
        [lambda s, a: 2],
        lambda s, a: [2],
        lambda s, a: np.array([2.0]),
        lambda s, a: np.float32(2),
    ],
)
def test_one_cost(cost):
    model = corridor(cost=cost, budget=5)
    assert_array_equal(model.cost, [[[2, 2], [2, 2], [0, 0]]])
    assert list(model.costs) == ["cost"]


@pytest.mark.parametrize(
    "cost",
    [
        [lambda s, a: 1 if s == "left" else 2, lambda s, a, t: 3],
        (lambda s, a: 1 if s == "left" else 2, lambda s, a: [3]),
        lambda s, a: (1 if s == "left" else 2, 3),
        lambda s, a, t, o: np.array([1 if s == "left" else 2, 3]),
        [lambda s, a: [1 if s == "left" else 2, 3]],
    ],
)
def test_two_costs(cost):
    model = corridor(cost=cost, costs=["fuel", "wear"], budget=[1, 2])
    assert_array_equal(model.cost, [[[1, 1], [2, 2], [0, 0]], [[3, 3], [3, 3], [0, 0]]])
    assert list(model.costs) == ["fuel", "wear"]


# Kinds of function


def scaled(scale, s, a):
    return scale if a == "go" else 0.0


class Payment:
    """A callable object."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, s, a):
        return scaled(self.scale, s, a)

    def by_arrival(self, s, a, arrived):
        return self.scale if a == "go" and arrived in STATES else 0.0

    @staticmethod
    def three(s, a):
        return scaled(3.0, s, a)


def with_annotations(s: str, a: str, /, *, scale: float = 3.0) -> float:
    return scaled(scale, s, a)


@pytest.mark.parametrize(
    "reward",
    [
        functools.partial(scaled, 3.0),
        functools.partial(lambda s, a, scale: scaled(scale, s, a), scale=3.0),
        Payment(3.0),
        Payment(3.0).by_arrival,
        Payment.three,
        with_annotations,
        lambda s, a, scale=3.0: scaled(scale, s, a),
        lambda s, a=None: scaled(3.0, s, a),
        lambda *args: scaled(3.0, *args),
        lambda s, *rest: scaled(3.0, s, *rest),
        lambda s, a, t, *rest: scaled(3.0, s, a) if t in STATES and not rest else None,
        lambda s, a, **options: scaled(3.0, s, a),
        functools.cache(lambda s, a: scaled(3.0, s, a)),
        lambda s, a, t, o: scaled(3.0, s, a),
    ],
)
def test_kinds_of_function(reward):
    assert_array_equal(corridor(reward=reward).reward, [[3, 0], [3, 0], [0, 0]])
    assert_array_equal(corridor(cost=reward, budget=1).cost, [[[3, 0], [3, 0], [0, 0]]])


def test_a_builtin_without_a_signature_is_called_with_state_and_action():
    model = corridor(
        states=[1, 2, 3],
        actions=[2, 5],
        transition=lambda s, a: {3: 1},
        observation=lambda a, s: {"dark": 1},
        reward=max,
        terminal=(),
    )
    assert_array_equal(model.reward, [[2, 5], [2, 5], [3, 5]])


def test_transition_and_observation_may_be_any_callable():
    model = corridor(
        transition=functools.partial(lambda n, s, a: move(s, a), 0),
        observation=lambda a, s, light="light": {light: 1},
    )
    assert_array_equal(model.transition[0].toarray(), [[0, 1, 0], [0.25, 0, 0.75], [0, 0, 1]])


# Values


def test_outcomes_that_cannot_happen_are_not_asked_for():
    asked = []

    def reward(s, a, arrived, o):
        asked.append((s, a, arrived, o))
        return 1.0

    corridor(
        transition=lambda s, a: {"left": 0.0, "right": 1.0},
        observation=lambda a, s: {"dark": 1.0, "light": 0.0},
        reward=reward,
    )
    assert {call[2:] for call in asked} == {("right", "dark")}


def test_expectations_by_hand():
    model = corridor(reward=lambda s, a, arrived: {"left": 4.0, "right": 8.0, "exit": 16.0}[arrived])
    assert_array_equal(model.reward, [[8, 4], [0.25 * 4 + 0.75 * 16, 8], [0, 0]])
    model = corridor(reward=lambda s, a, arrived, o: 4.0 if o == "dark" else 0.0)
    assert_array_equal(model.reward, [[0, 2], [0.25 * 2, 0], [0, 0]])


def test_expectations_are_over_the_rescaled_rows():
    model = corridor(
        transition=lambda s, a: dict.fromkeys(STATES, 0.333333),
        reward=lambda s, a, arrived: 3.0,
        cost=lambda s, a, arrived: 1.0 if arrived == "left" else 0.0,
    )
    assert_allclose(model.reward[:2], 3.0, rtol=1e-15)
    assert_allclose(model.cost[0, :2], 1 / 3, rtol=1e-15)


def test_a_label_may_be_given_by_its_text_and_adds_up():
    model = corridor(
        states=[1, 2, 3],
        transition=lambda s, a: {1: 0.25, "1": 0.25, "3": 0.5},
        observation=lambda a, s: {"dark": 1},
        terminal=(),
    )
    assert_array_equal(model.transition[0].toarray(), [[0.5, 0, 0.5]] * 3)


# Sentences

GO = "under action 'go'"
FORMS = "it must be a function of (s, a), (s, a, s') or (s, a, s', o)"

MALFORMED = [
    # No mapping
    (
        {"transition": lambda s, a: "left"},
        "transition('left', 'go') returned 'left', not a mapping from labels to probabilities",
    ),
    (
        {"transition": lambda s, a: None},
        "transition('left', 'go') returned None, not a mapping from labels to probabilities",
    ),
    (
        {"observation": lambda a, s: [0.5, 0.5]},
        "observation('go', 'left') returned [0.5, 0.5], not a mapping from labels to probabilities",
    ),
    (
        {"observation": lambda a, s: None},
        "observation('go', 'left') returned None, not a mapping from labels to probabilities",
    ),
    # Unknown labels
    (
        {"transition": lambda s, a: {"lfet": 1}},
        f"transition of state 'left' {GO}: state 'lfet' is not declared; did you mean 'left'?",
    ),
    ({"transition": lambda s, a: {4: 1}}, f"transition of state 'left' {GO}: state 4 is not declared"),
    (
        {"observation": lambda a, s: {"ligt": 1}},
        f"observation of state 'left' {GO}: observation 'ligt' is not declared; did you mean 'light'?",
    ),
    ({"initial": {"rihgt": 1}}, "initial belief: state 'rihgt' is not declared; did you mean 'right'?"),
    ({"terminal": ["exti"]}, "terminal: state 'exti' is not declared; did you mean 'exit'?"),
    ({"terminal": "exit"}, "terminal is 'exit', not a list"),
    ({"terminal": None}, "terminal is None, not a list"),
    ({"terminal": [True, False]}, "terminal mask has length 2, but the model has 3 states"),
    # Probabilities
    (
        {"transition": lambda s, a: {"left": "half", "right": 0.5}},
        f"transition of state 'left' {GO} gives 'left' probability 'half', not a number",
    ),
    (
        {"transition": lambda s, a: {"left": None}},
        f"transition of state 'left' {GO} gives 'left' probability None, not a number",
    ),
    (
        {"transition": lambda s, a: {"left": [1.0]}},
        f"transition of state 'left' {GO} gives 'left' probability [1.0], not a number",
    ),
    (
        {"observation": lambda a, s: {"dark": 1j}},
        f"observation of state 'left' {GO} gives 'dark' probability 1j, not a number",
    ),
    (
        {"transition": lambda s, a: {"left": 0.5, "right": 0.25}},
        f"transition of state 'left' {GO} sums to 0.75, not 1",
    ),
    ({"transition": lambda s, a: {}}, f"transition of state 'left' {GO} sums to 0, not 1"),
    (
        {"transition": lambda s, a: {"left": float("nan")}},
        f"transition of state 'left' {GO} gives 'left' probability nan, which is not a number",
    ),
    (
        {"transition": lambda s, a: {"left": -1, "right": 2}},
        f"transition of state 'left' {GO} gives 'left' probability -1, which is below 0",
    ),
    (
        {"transition": lambda s, a: {"left": 10**400}},
        f"transition of state 'left' {GO} gives 'left' probability inf, which is above 1",
    ),
    (
        {"observation": lambda a, s: {"dark": 0.5, "light": 0.5 if s == "left" else 0.75}},
        f"observation of state 'right' {GO} sums to 1.25, not 1",
    ),
    ({"initial": {"left": 0.5}}, "initial belief sums to 0.5, not 1"),
    # Rewards and costs: values
    ({"reward": lambda s, a: None}, f"reward of state 'left' {GO} is None, not a number"),
    ({"reward": lambda s, a: "1"}, f"reward of state 'left' {GO} is '1', not a number"),
    ({"reward": lambda s, a: 1j}, f"reward of state 'left' {GO} is 1j, not a number"),
    ({"reward": lambda s, a: [[1]]}, f"reward of state 'left' {GO} is [[1]], not a number"),
    ({"reward": lambda s, a: {"go": 1}}, f"reward of state 'left' {GO} is {{'go': 1}}, not a number"),
    ({"reward": lambda s, a, t: "x"}, f"reward of state 'left' {GO} is 'x', not a number"),
    ({"reward": lambda s, a: float("nan")}, f"reward of state 'left' {GO} is not a number"),
    ({"reward": lambda s, a: 10**400}, f"reward of state 'left' {GO} is infinite"),
    (
        {"reward": lambda s, a, t: float("inf") if t == "exit" else -float("inf")},
        f"reward of state 'left' {GO} is infinite",
    ),
    (
        {"reward": lambda s, a, t: {"exit": 1, "left": -1}.get(t, 0) * float("inf") if s == "right" else 0},
        f"reward of state 'right' {GO} is not a number",
    ),
    ({"reward": lambda s, a: [1, 2]}, "reward gives 2 values; it must be one number"),
    ({"reward": lambda s, a: []}, "reward gives 0 values; it must be one number"),
    ({"cost": lambda s, a: -1}, f"cost of state 'left' {GO} is -1, below 0"),
    ({"cost": [lambda s, a: 0, lambda s, a: -(s == "right")]}, f"cost1 of state 'right' {GO} is -1, below 0"),
    ({"cost": lambda s, a: -1, "costs": ["fuel"]}, f"fuel of state 'left' {GO} is -1, below 0"),
    ({"cost": lambda s, a: "none"}, f"cost of state 'left' {GO} is 'none', not a number"),
    ({"cost": lambda s, a: [1, None]}, f"cost1 of state 'left' {GO} is not a number"),
    (
        {"cost": lambda s, a: [1, 2] if s == "left" else 0},
        f"cost of state 'right' {GO} has 1 value, elsewhere 2",
    ),
    (
        {"cost": lambda s, a, t: [1, 2] if t == "exit" else 0, "initial": {"right": 1}},
        f"cost of state 'right' {GO} has 2 values, elsewhere 1",
    ),
    (
        {"cost": lambda s, a, t: [1, 2, 3] if t == "left" else [1, 2]},
        "cost of state 'left' under action 'look' has 3 values, elsewhere 2",
    ),
    # Rewards and costs: functions
    ({"reward": lambda s: 0}, f"reward takes (s); {FORMS}"),
    ({"reward": lambda: 0}, f"reward takes (); {FORMS}"),
    ({"reward": lambda s, a, t, o, x: 0}, f"reward takes (s, a, t, o, x); {FORMS}"),
    ({"reward": lambda s, a, *, scale: 0}, f"reward takes (s, a, *, scale); {FORMS}"),
    ({"cost": lambda s: 0}, f"cost takes (s); {FORMS}"),
    ({"cost": [lambda s, a: 0, lambda s: 0]}, f"cost takes (s); {FORMS}"),
    ({"reward": 1.0}, f"reward has type float; {FORMS}"),
    ({"reward": {("left", "go"): 1.0}}, f"reward has type dict; {FORMS}"),
    ({"cost": 1.0}, f"cost has type float; {FORMS}"),
    ({"cost": np.zeros((3, 2))}, f"cost has type ndarray; {FORMS}"),
    ({"cost": [lambda s, a: 0, None]}, f"cost has type NoneType; {FORMS}"),
    ({"transition": lambda s: {s: 1}}, "transition takes (s); it must be a function of (s, a)"),
    ({"transition": lambda s, a, t: 0.5}, "transition takes (s, a, t); it must be a function of (s, a)"),
    ({"transition": {}}, "transition has type dict; it must be a function of (s, a)"),
    ({"observation": lambda s: {"dark": 1}}, "observation takes (s); it must be a function of (a, s')"),
    ({"observation": None}, "observation has type NoneType; it must be a function of (a, s')"),
    # Functions the wrong way round
    (
        {"observation": lambda s, a: {"dark": 1}},
        "observation takes (s, a), the wrong way round: it is called with (a, s')",
    ),
    (
        {"transition": lambda action, state: {state: 1}},
        "transition takes (action, state), the wrong way round: it is called with (s, a)",
    ),
    ({"cost": lambda a, s, t: 0}, "cost takes (a, s, t), the wrong way round: it is called with (s, a)"),
    # The rest
    (
        {"initial": "left"},
        "initial is 'left', not a mapping from labels to probabilities: {label: 1.0} is one",
    ),
    (
        {"initial": "lost"},
        "initial is 'lost', not a mapping from labels to probabilities: {label: 1.0} is one",
    ),
    ({"states": []}, "the model has no states"),
    ({"actions": ()}, "the model has no actions"),
    ({"observations": iter([])}, "the model has no observations"),
    ({"states": 3}, "state labels are 3, not a list"),
    ({"states": ["left", "left"]}, "state 'left' is declared twice"),
    ({"terminal": lambda s: True}, "every state is terminal, so an initial belief must be given"),
    ({"discount": 1.5}, "discount is 1.5, outside [0, 1]"),
    ({"budget": 1.0}, "budget has length 1, but the model has 0 costs"),
    ({"cost": lambda s, a: [1, 2], "costs": ["fuel"]}, "1 cost label given for 2 costs"),
]


@pytest.mark.parametrize(("changes", "message"), MALFORMED, ids=[message[:70] for _, message in MALFORMED])
def test_malformed_models_are_refused_with_a_sentence(changes, message):
    with pytest.raises(ModelError) as error:
        corridor(**changes)
    assert str(error.value) == message


@pytest.mark.parametrize("argument", ["transition", "observation", "reward", "cost"])
def test_errors_inside_a_function_are_its_own(argument):
    def divide(x, y):
        return {0: 1 / 0}

    with pytest.raises(ZeroDivisionError):
        corridor(**{argument: divide})


def test_errors_inside_a_function_say_where():
    with pytest.raises(KeyError) as error:
        corridor(transition=lambda s, a: {"left": {"right": 1}}[s])
    assert error.value.__notes__ == ["in transition('right', 'go')"]


def test_warnings_inside_a_function_are_its_own():
    """The expectation hides overflow; what the caller's function does is still reported."""
    with pytest.warns(RuntimeWarning, match="overflow"):
        corridor(reward=lambda s, a, t: float(np.float64(1e308) * 10 > 0))


def test_names_that_say_nothing_may_stand_in_any_order():
    corridor(observation=lambda here, there: {"dark": 1})
