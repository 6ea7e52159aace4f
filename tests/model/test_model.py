"""CPOMDP: what goes in comes out, in whatever form it was given, and stays as it is."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, fields
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp.errors import ModelError
from rcpomdp.model import CPOMDP
from rcpomdp.model.labels import Labels
from strategies import DISCOUNTS, Dense, beliefs, cpomdps, random_belief, random_model, rngs

quick = settings(derandomize=True, deadline=None, max_examples=60)

# Every number is a sum of few powers of two, so that splitting and adding entries is exact.
T = np.array(
    [
        [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.0, 0.125, 0.875], [0.75, 0.0, 0.25], [0.0, 0.0, 1.0]],
    ]
)
Z = np.array([[[0.875, 0.125], [0.25, 0.75], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]])
R = np.array([[1.0, -2.0], [0.5, 4.0], [0.0, 0.0]])
C = np.array([[[1.0, 0.0], [3.0, 0.25], [0.0, 0.0]], [[0.0, 0.5], [0.0, 0.0], [0.0, 0.0]]])
B = np.array([0.25, 0.75, 0.0])


def parts(**changes):
    """Fresh arguments of a good model."""
    arguments = {
        "transition": T.copy(),
        "observation": Z.copy(),
        "reward": R.copy(),
        "cost": C.copy(),
        "initial_belief": B.copy(),
        "discount": 0.9,
        "budget": np.array([5.0, 1.0]),
    }
    return arguments | changes


def blind_model(transition, reward, belief, **changes) -> CPOMDP:
    """A model of one action and one observation."""
    n = len(belief)
    arguments = {"observation": np.ones((1, n, 1)), "discount": 0.5} | changes
    return CPOMDP(transition=[transition], reward=np.reshape(reward, (n, 1)), initial_belief=belief, **arguments)


def numbers(model: CPOMDP) -> list[np.ndarray]:
    """Copies of all arrays of a model."""
    return [np.array(a) for a in (*model.arrays, model.initial_belief, model.budget, model.terminal)]


def assert_same_numbers(model: CPOMDP, expected: list[np.ndarray]) -> None:
    for array, other in zip(numbers(model), expected, strict=True):
        assert array.dtype == other.dtype
        assert_array_equal(array, other)


# What goes in comes out


@quick
@given(cpomdps())
def test_a_model_holds_the_numbers_it_was_given(case: Dense):
    model, (n_actions, n_states, n_observations) = case.model, case.Z.shape
    assert (model.n_states, model.n_actions) == (n_states, n_actions)
    assert (model.n_observations, model.n_costs) == (n_observations, len(case.C))
    assert_array_equal([t.toarray() for t in model.transition], case.T)
    assert_array_equal([z.toarray() for z in model.observation], case.Z)
    assert_array_equal(model.reward, case.R)
    assert_array_equal(model.cost, case.C)


@quick
@given(cpomdps())
def test_the_flat_arrays_are_the_rows_laid_end_to_end(case: Dense):
    m = case.model.arrays
    for pointer, column, probability, dense in (
        (m.t_ptr, m.t_next, m.t_prob, case.T),
        (m.z_ptr, m.z_obs, m.z_prob, case.Z),
    ):
        assert (pointer.dtype, column.dtype, probability.dtype) == (np.int64, np.int32, np.float64)
        assert (pointer[0], pointer[-1]) == (0, np.count_nonzero(dense))
        for row, expected in enumerate(dense.reshape(-1, dense.shape[2])):
            entries = slice(pointer[row], pointer[row + 1])
            assert_array_equal(column[entries], np.flatnonzero(expected))
            assert_array_equal(probability[entries], expected[expected > 0])
    assert m.n_observations == case.Z.shape[2]


@quick
@given(cpomdps())
def test_terminal_states_are_those_that_keep_to_themselves_for_nothing(case: Dense):
    stays = (np.diagonal(case.T, axis1=1, axis2=2) == 1).all(axis=0)
    expected = stays & (case.R == 0).all(axis=1) & (case.C == 0).all(axis=(0, 2))
    assert_array_equal(case.model.terminal, expected)


@pytest.mark.parametrize("change", ["leaves", "is rewarded", "costs", "costs in the second cost"])
def test_one_action_is_enough_not_to_be_terminal(change):
    t, r, c = T.copy(), R.copy(), C.copy()
    if change == "leaves":
        t[1, 2] = [0.0, 0.5, 0.5]
    elif change == "is rewarded":
        r[2, 1] = -1e-9
    else:
        c[1 if "second" in change else 0, 2, 1] = 1e-9
    assert not CPOMDP(**parts(transition=t, reward=r, cost=c)).terminal.any()
    assert_array_equal(CPOMDP(**parts()).terminal, [False, False, True])


def test_a_state_that_goes_on_to_another_alone_is_not_terminal():
    swap = blind_model([[0, 1], [1, 0]], [0, 0], [1, 0])
    assert not swap.terminal.any()


@pytest.mark.parametrize(
    "terminal",
    [
        ["s2"],
        ("s2",),
        {"s2"},
        iter(["s2"]),
        [],
        np.array([False, False, True]),
        [False, False, True],
        Labels(["s2"], ""),
    ],
)
def test_terminal_states_may_be_declared(terminal):
    assert_array_equal(CPOMDP(**parts(terminal=terminal)).terminal, [False, False, True])


def test_booleans_are_labels_where_states_are_booleans():
    model = blind_model([[0, 1], [0, 1]], [1, 0], [1, 0], states=[False, True], terminal=[True])
    assert_array_equal(model.terminal, [False, True])


# Forms of input


def duplicated(dense: np.ndarray) -> sp.coo_array:
    """Each entry in two halves, in reverse order."""
    row, column = (np.tile(i[::-1], 2) for i in np.nonzero(dense))
    return sp.coo_array((dense[row, column] / 2, (row, column)), shape=dense.shape)


def uncanonical_csr(dense: np.ndarray) -> sp.csr_array:
    """Rows backwards, each entry in two halves and all zeros explicit."""
    n, m = dense.shape
    column = np.tile(np.repeat(np.arange(m)[::-1], 2), n)
    data = np.repeat(dense[:, ::-1], 2, axis=1).reshape(-1) / 2
    return sp.csr_array((data, column, np.arange(n + 1) * 2 * m), shape=dense.shape)


def backwards_csr(dense: np.ndarray) -> sp.csr_array:
    """Rows backwards, each entry in two halves, without zeros."""
    row, column = (np.repeat(i[::-1], 2) for i in np.nonzero(dense[::-1]))
    row = len(dense) - 1 - row
    pointer = np.searchsorted(row, np.arange(len(dense) + 1))
    return sp.csr_array((dense[row, column] / 2, column, pointer), shape=dense.shape)


def with_explicit_zeros(dense: np.ndarray) -> sp.csr_array:
    n, m = dense.shape
    return sp.csr_array((dense.reshape(-1).copy(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=dense.shape)


def with_wide_indices(dense: np.ndarray) -> sp.csr_array:
    csr = sp.csr_array(dense)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


FORMS = [
    sp.csr_array,
    sp.csr_matrix,
    sp.csc_array,
    sp.csc_matrix,
    sp.coo_array,
    sp.coo_matrix,
    sp.lil_array,
    sp.dok_array,
    sp.dia_array,
    sp.bsr_array,
    duplicated,
    uncanonical_csr,
    backwards_csr,
    with_explicit_zeros,
    with_wide_indices,
    np.asfortranarray,
    np.ndarray.tolist,
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_arrays(form):
    dense = CPOMDP(**parts())
    other = CPOMDP(**parts(transition=[form(t) for t in T], observation=tuple(form(z) for z in Z)))
    assert_same_numbers(other, numbers(dense))
    assert other.fingerprint == dense.fingerprint


def test_forms_may_be_mixed():
    mixed = CPOMDP(**parts(transition=[sp.csc_array(T[0]), T[1].tolist()], observation=[Z[0], sp.coo_array(Z[1])]))
    assert_same_numbers(mixed, numbers(CPOMDP(**parts())))


@pytest.mark.parametrize(
    "given_as",
    [
        np.asfortranarray,
        lambda x: x.tolist(),
        lambda x: x[::-1].copy()[::-1],
        lambda x: x.astype(object),
    ],
    ids=["Fortran order", "lists", "a strided view", "objects"],
)
def test_every_form_of_dense_arrays(given_as):
    arguments = parts()
    dense = CPOMDP(**arguments)
    other = CPOMDP(**{k: v if k == "discount" else given_as(v) for k, v in arguments.items()})
    assert_same_numbers(other, numbers(dense))


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float32, np.longdouble])
def test_every_kind_of_real_number(kind):
    model = CPOMDP(
        transition=np.array([[[1, 0], [0, 1]]], dtype=kind),
        observation=[sp.csr_array(np.array([[0, 1], [1, 0]], dtype=kind))],
        reward=np.array([[1], [0]], dtype=kind),
        cost=np.array([[1], [0]], dtype=kind),
        initial_belief=np.array([1, 0], dtype=kind),
        discount=kind(0),
        budget=kind(1),
    )
    assert_array_equal(model.transition[0].toarray(), np.eye(2))
    assert_array_equal(model.observation[0].toarray(), np.eye(2)[::-1])
    assert model.reward.dtype == model.cost.dtype == model.budget.dtype == np.float64
    assert (model.discount, type(model.discount)) == (0.0, float)


def test_fractions_decimals_and_long_integers_are_numbers():
    third = Fraction(1, 3)
    rows = [[third, 1 - third], [Decimal("0.25"), Decimal("0.75")]]
    model = blind_model(rows, [10**30, third], {"s0": third, "s1": 1 - third}, discount=Fraction(9, 10))
    assert_array_equal(model.transition[0].toarray(), [[1 / 3, 2 / 3], [0.25, 0.75]])
    assert_array_equal(model.reward, [[1e30], [1 / 3]])
    assert_array_equal(model.initial_belief, [1 / 3, 2 / 3])
    assert model.discount == 0.9


def test_labels_unless_given():
    model = CPOMDP(**parts())
    assert list(model.states) == ["s0", "s1", "s2"]
    assert list(model.actions) == ["a0", "a1"]
    assert list(model.observations) == ["o0", "o1"]
    assert list(model.costs) == ["cost0", "cost1"]
    assert list(CPOMDP(**parts(cost=C[0], budget=1)).costs) == ["cost"]


def test_labels_given():
    model = CPOMDP(**parts(states="xyz", actions=range(2), observations=iter([None, ()]), costs=["fuel", "risk"]))
    assert list(model.states) == ["x", "y", "z"]
    assert list(model.actions) == [0, 1]
    assert list(model.observations) == [None, ()]
    assert model.costs.index("risk") == 1


@pytest.mark.parametrize("cost", [None, np.zeros((0, 3, 2))])
def test_a_model_without_cost(cost):
    model = CPOMDP(**parts(cost=cost, budget=None))
    assert model.cost.shape == (0, 3, 2)
    assert model.budget.shape == (0,)
    assert len(model.costs) == 0


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (None, [np.inf, np.inf]),
        ([1, 2], [1, 2]),
        ((0, np.inf), [0, np.inf]),
        ([Fraction(1, 2), 10**400], [0.5, np.inf]),
        ([None, 2], [np.inf, 2]),
        ({"cost1": 2}, [np.inf, 2]),
        ({"cost1": 2, "cost0": 3}, [3, 2]),
        ({"cost1": None, "cost0": 3}, [3, np.inf]),
        ({}, [np.inf, np.inf]),
    ],
)
def test_budgets(budget, expected):
    assert_array_equal(CPOMDP(**parts(budget=budget)).budget, expected)


@pytest.mark.parametrize("budget", [3, 3.0, [3], np.float32(3), np.array(3), np.array([[3]])])
def test_a_scalar_budget_serves_one_cost(budget):
    assert_array_equal(CPOMDP(**parts(cost=C[0], budget=budget)).budget, [3.0])


@pytest.mark.parametrize(
    "belief",
    [
        [0.25, 0.75, 0.0],
        {"s0": 0.25, "s1": 0.75},
        {"s1": 0.75, "s2": 0, "s0": 0.25},
        {"s0": np.float32(0.25), "s1": Fraction(3, 4)},
    ],
)
def test_initial_beliefs(belief):
    assert_array_equal(CPOMDP(**parts(initial_belief=belief)).initial_belief, B)


def test_a_label_and_its_text_are_one_state():
    model = CPOMDP(**parts(states=[10, 20, 30], initial_belief={10: 0.25, "10": 0.25, "30": 0.5}))
    assert_array_equal(model.initial_belief, [0.5, 0.0, 0.5])


@pytest.mark.parametrize("discount", [*DISCOUNTS, 0, np.float32(0.5), np.array(0.25), Fraction(1, 3)])
def test_discounts(discount):
    assert CPOMDP(**parts(discount=discount)).discount == float(discount)


def test_a_discount_a_millionth_below_one_is_kept_to_the_bit():
    model = CPOMDP(**parts(discount=1 - np.exp(-14)))
    assert model.discount == 0.9999991684712809
    assert "discount 0.999999168471," in repr(model)


# Nothing of the caller's is changed or kept


@pytest.mark.parametrize("form", FORMS[:-1])
def test_the_callers_matrices_are_not_changed(form):
    given_matrices = [form(t) for t in T] + [form(z) for z in Z]
    before = copy.deepcopy(given_matrices)
    CPOMDP(**parts(transition=given_matrices[:2], observation=given_matrices[2:]))
    for matrix, old in zip(given_matrices, before, strict=True):
        for name in ("data", "indices", "indptr", "row", "col", "coords", "offsets"):
            if not isinstance(matrix, np.ndarray) and isinstance(getattr(matrix, name, None), np.ndarray):
                assert_array_equal(getattr(matrix, name), getattr(old, name))
                assert getattr(matrix, name).dtype == getattr(old, name).dtype
                assert getattr(matrix, name).flags.writeable
        assert_array_equal(
            matrix if isinstance(matrix, np.ndarray) else matrix.toarray(),
            old if isinstance(old, np.ndarray) else old.toarray(),
        )


def test_the_callers_matrix_keeps_its_duplicates_and_zeros():
    matrix = uncanonical_csr(T[0])
    stored = matrix.nnz
    CPOMDP(**parts(transition=[matrix, T[1]]))
    assert (matrix.nnz, matrix.has_canonical_format) == (stored, False)


@pytest.mark.parametrize(
    "form",
    [np.array, lambda x: [np.array(m) for m in x], lambda x: [sp.csr_array(m) for m in x]],
    ids=["one array", "list of arrays", "list of CSR"],
)
def test_later_changes_of_the_callers_arrays_do_not_reach_the_model(form):
    arguments = parts(transition=form(T), observation=form(Z))
    model = CPOMDP(**arguments)
    others = [
        model.with_budget(arguments["budget"]),
        model.with_initial_belief(arguments["initial_belief"]),
    ]
    before = numbers(model)
    del arguments["discount"]
    for value in arguments.values():
        for array in value if isinstance(value, list) else [value]:
            (array if isinstance(array, np.ndarray) else array.data)[...] = 7
    for other in (model, *others):
        assert_same_numbers(other, before)


@pytest.mark.parametrize("rank", [3, 4])
def test_a_reward_by_arrival_is_not_changed(rank):
    reward = np.ones((3, 2, 3, 2)[:rank])
    cost = np.ones((1, 3, 2, 3, 2)[: rank + 1])
    CPOMDP(**parts(reward=reward, cost=cost, budget=1))
    assert (reward == 1).all()
    assert (cost == 1).all()
    assert reward.flags.writeable


# A model does not change


def relatives() -> list[CPOMDP]:
    model = CPOMDP(**parts())
    return [
        model,
        model.with_budget([1, 1]),
        model.with_initial_belief([0, 0, 1]),
        model.scalarised([1, 1]),
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ]


@pytest.mark.parametrize("model", relatives())
def test_attributes_are_frozen(model):
    for field in fields(CPOMDP):
        with pytest.raises(FrozenInstanceError):
            setattr(model, field.name, None)
        with pytest.raises(FrozenInstanceError):
            delattr(model, field.name)
    with pytest.raises(FrozenInstanceError):
        model.something = 1


@pytest.mark.parametrize("model", relatives())
def test_arrays_are_frozen(model):
    arrays = [
        *model.arrays[:-1],
        model.initial_belief,
        model.budget,
        model.terminal,
        model.reward,
        model.cost,
    ]
    for matrix in (*model.transition, *model.observation):
        arrays += [matrix.data, matrix.indices, matrix.indptr]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_a_model_is_itself_alone():
    """Models are compared by identity, and can be keys; their fingerprints compare numbers."""
    model = CPOMDP(**parts())
    other = copy.copy(model)
    assert model == model  # noqa: PLR0124 - the point of the test
    assert model != other
    assert len({model, other}) == 2


def test_sparse_views_share_their_entries_with_the_arrays():
    model = CPOMDP(**parts())
    m = model.arrays
    for matrix in model.transition:
        assert np.shares_memory(matrix.data, m.t_prob)
        assert np.shares_memory(matrix.indices, m.t_next)
    for matrix in model.observation:
        assert np.shares_memory(matrix.data, m.z_prob)
        assert np.shares_memory(matrix.indices, m.z_obs)
    assert model.transition is model.transition


# Rescaling


@pytest.mark.parametrize("off", [9e-6, -9e-6, 1e-9, -2e-12])
def test_rows_within_rounding_are_rescaled(off):
    t, z = T.copy(), Z.copy()
    t[0, 0] *= 1 + off
    z[1, 2] *= 1 + off
    model = CPOMDP(**parts(transition=t, observation=z, initial_belief=B * (1 + off)))
    assert_allclose([m.toarray() for m in model.transition], T, rtol=1e-15, atol=0)
    assert_allclose([m.toarray() for m in model.observation], Z, rtol=1e-15, atol=0)
    assert_allclose(model.initial_belief, B, rtol=1e-15, atol=0)
    # Rows that were right keep every bit.
    assert_array_equal(model.transition[0].toarray()[1:], T[0, 1:])
    assert_array_equal(model.transition[1].toarray(), T[1])


@pytest.mark.parametrize("off", [5e-13, -5e-13])
def test_rows_that_are_right_keep_every_bit(off):
    t = T.copy()
    t[0, 0, 0] += off
    b = B + np.array([off, 0, 0])
    model = CPOMDP(**parts(transition=t, initial_belief=b))
    assert_array_equal(model.transition[0].toarray(), t[0])
    assert_array_equal(model.initial_belief, b)
    assert not np.shares_memory(model.initial_belief, b)


def test_six_printed_digits_are_enough():
    thirds = np.full((3, 3), 0.333333)
    model = blind_model(thirds, [0, 0, 0], thirds[0])
    assert_allclose(model.transition[0].toarray(), 1 / 3, rtol=1e-15)
    assert_allclose(model.initial_belief, 1 / 3, rtol=1e-15)


def test_rows_beyond_rounding_are_refused():
    t = T.copy()
    t[0, 0] *= 1 + 1.1e-5
    expected = r"^transition of state 's0' under action 'a0' sums to 1.000011, not 1$"
    with pytest.raises(ModelError, match=expected):
        CPOMDP(**parts(transition=t))


@quick
@given(cpomdps(), rngs())
def test_rescaling_twice_is_rescaling_once(case: Dense, rng: np.random.Generator):
    off = 1 + rng.uniform(-9e-6, 9e-6, case.T.shape[:2])
    once = CPOMDP(
        transition=case.T * off[:, :, None],
        observation=case.Z,
        reward=case.R,
        initial_belief=case.model.initial_belief,
        discount=0.5,
    )
    twice = CPOMDP(
        transition=once.transition,
        observation=once.observation,
        reward=once.reward,
        initial_belief=once.initial_belief,
        discount=0.5,
    )
    assert_same_numbers(twice, numbers(once))
    assert_allclose([t.toarray() for t in once.transition], case.T, rtol=1e-14)


# Expectations


def expected_by_loops(values: np.ndarray, T: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """``Σ_{s', o} T(s, a, s') Z(s', a, o) X(s, a, s', o)``, or the same without o."""
    n_actions, n_states, n_observations = Z.shape
    result = np.zeros((n_states, n_actions))
    for s, a, t in np.ndindex(n_states, n_actions, n_states):
        if values.ndim == 3:
            result[s, a] += T[a, s, t] * values[s, a, t]
        else:
            for o in range(n_observations):
                result[s, a] += T[a, s, t] * Z[a, t, o] * values[s, a, t, o]
    return result


@quick
@given(cpomdps(), st.sampled_from([3, 4]), rngs())
def test_rewards_and_costs_by_arrival_are_reduced_to_expectations(case: Dense, rank: int, rng: np.random.Generator):
    n_actions, n_states, n_observations = case.Z.shape
    shape = (n_states, n_actions, n_states, n_observations)[:rank]
    reward = rng.uniform(-10, 10, shape)
    cost = rng.uniform(0, 10, (2, *shape))
    model = CPOMDP(
        transition=case.T,
        observation=case.Z,
        reward=reward,
        cost=cost,
        initial_belief=case.model.initial_belief,
        discount=0.5,
    )
    assert_allclose(model.reward, expected_by_loops(reward, case.T, case.Z), atol=1e-13)
    for k in range(2):
        assert_allclose(model.cost[k], expected_by_loops(cost[k], case.T, case.Z), atol=1e-13)


def test_reward_and_cost_may_depend_on_different_things():
    reward = np.arange(18.0).reshape(3, 2, 3)
    cost = np.arange(36.0).reshape(1, 3, 2, 3, 2)
    model = CPOMDP(**parts(reward=reward, cost=cost, budget=1))
    assert_allclose(model.reward, expected_by_loops(reward, T, Z))
    assert_allclose(model.cost[0], expected_by_loops(cost[0], T, Z))


def test_what_never_happens_does_not_count():
    reward = np.full((3, 2, 3), 1e300)
    reward[T.transpose(1, 0, 2) > 0] = 2.0
    assert_array_equal(CPOMDP(**parts(reward=reward)).reward, np.full((3, 2), 2.0))


# Relatives


@quick
@given(cpomdps(), st.data())
def test_with_initial_belief(case: Dense, data: st.DataObject):
    model, before = case.model, numbers(case.model)
    belief = data.draw(beliefs(model.n_states))
    by_label = {model.states[s]: p for s, p in enumerate(belief) if p > 0}
    for other in (model.with_initial_belief(belief), model.with_initial_belief(by_label)):
        assert_array_equal(other.initial_belief, belief)
        assert other.arrays is model.arrays
        assert_same_numbers(other.with_initial_belief(model.initial_belief), before)
    assert_same_numbers(model, before)


def test_a_budget_by_name_leaves_the_others():
    model = CPOMDP(**parts(states="xyz"))
    first, second = model.costs
    assert_array_equal(model.with_budget({first: 7}).budget, [7, 1])
    assert_array_equal(model.with_budget({second: None}).budget, [5, np.inf])


def test_with_budget():
    model = CPOMDP(**parts(name="rover", states="xyz"))
    other = model.with_budget([7, np.inf])
    assert_array_equal(other.budget, [7, np.inf])
    assert_array_equal(model.budget, [5, 1])
    assert_array_equal(model.with_budget(None).budget, [np.inf, np.inf])
    assert other.arrays is model.arrays
    assert (other.name, other.states, other.discount) == ("rover", model.states, 0.9)
    assert_array_equal(other.initial_belief, B)


def test_relatives_do_not_inherit_what_was_computed():
    model = CPOMDP(**parts())
    before = (model.fingerprint, model.spending_limit.copy())
    assert model.with_initial_belief([1, 0, 0]).fingerprint != before[0]
    assert model.scalarised([1, 1]).fingerprint != before[0]
    assert_allclose(model.with_budget([7, 0]).spending_limit, [7 + 7e-9, 0], rtol=1e-15)
    assert (model.fingerprint, *model.spending_limit) == (before[0], *before[1])


def test_spending_limit_is_the_budget_and_a_relative_tolerance():
    model = CPOMDP(**parts(budget=[0.5, 4000]))
    assert_allclose(model.spending_limit, [0.5 + 5e-10, 4000 + 4e-6], rtol=1e-15)
    assert_array_equal(model.with_budget([0, 1e-12]).spending_limit, [0, 1e-12 * (1 + 1e-9)])
    assert_array_equal(model.with_budget(None).spending_limit, [np.inf, np.inf])
    with pytest.raises(ValueError, match="read-only"):
        model.spending_limit[0] = 1


@quick
@given(cpomdps(), rngs())
def test_scalarised(case: Dense, rng: np.random.Generator):
    model, before = case.model, numbers(case.model)
    weights = rng.uniform(0, 5, model.n_costs)
    plain = model.scalarised(weights)
    expected = case.R.copy()
    for k, weight in enumerate(weights):
        expected -= weight * case.C[k]
    assert_allclose(plain.reward, expected, atol=1e-13)
    assert plain.n_costs == 0
    assert plain.cost.shape == (0, model.n_states, model.n_actions)
    assert plain.budget.shape == (0,)
    assert plain.discount == model.discount
    assert_array_equal([t.toarray() for t in plain.transition], case.T)
    assert_array_equal([z.toarray() for z in plain.observation], case.Z)
    assert_array_equal(plain.initial_belief, model.initial_belief)
    assert (plain.terminal >= model.terminal).all()
    assert_same_numbers(model, before)


def test_scalarising_may_make_a_state_terminal():
    model = blind_model([[1]], [2], [1], cost=[[1]])
    assert not model.terminal.any()
    assert not model.scalarised(1).terminal.any()
    assert model.scalarised(2).terminal.all()
    assert model.scalarised([2]).reward.tolist() == [[0.0]]


# Fingerprint


def test_the_fingerprint_is_the_same_on_every_machine():
    """Computed once on little-endian 64-bit Linux; all numbers of this model are exact."""
    assert (
        CPOMDP(**parts(discount=0.5)).fingerprint == "eef36ba64d34f4af6ed5125df2935bd22894726f27f0843a6c856e81f921a575"
    )


@pytest.mark.parametrize(
    "same",
    [
        copy.copy,
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: m.with_budget([0, 9]),
        lambda m: m.with_initial_belief(m.initial_belief),
        lambda m: CPOMDP(**parts(states="xyz", actions="ab", observations="uv", costs="cd", name="other")),
        lambda m: CPOMDP(**parts(terminal=["s2"])),
        lambda m: CPOMDP(**parts(transition=m.transition, observation=m.observation, cost=m.cost)),
    ],
)
def test_the_fingerprint_of_the_same_numbers(same):
    model = CPOMDP(**parts())
    other = same(model)
    assert other is not model
    assert other.fingerprint == model.fingerprint
    assert re.fullmatch("[0-9a-f]{64}", model.fingerprint)


def test_the_fingerprint_changes_with_any_number():
    variants = [
        parts(discount=np.nextafter(0.9, 1)),
        parts(cost=None, budget=None),
        parts(cost=C[:1], budget=5),
        parts(observation=np.concatenate([Z, np.zeros((2, 3, 1))], axis=2)),  # an observation that never comes
    ]
    for key, array in (("reward", R), ("cost", C)):
        for index in np.ndindex(array.shape):
            changed = array.copy()
            changed[index] = np.nextafter(changed[index], np.inf)
            variants.append(parts(**{key: changed}))
    for key, array in (("transition", T), ("observation", Z), ("initial_belief", B)):
        for index in np.ndindex(array.shape):  # some mass of the row goes to this entry
            changed = array.copy()
            changed[index[:-1]] *= 1 - 2**-20
            changed[index] += 2**-20
            if (changed != array).any():
                variants.append(parts(**{key: changed}))
    prints = {CPOMDP(**arguments).fingerprint for arguments in (parts(), *variants)}
    assert len(prints) == 1 + len(variants) > 40


# Pickling, repr


@quick
@given(cpomdps())
def test_pickling(case: Dense):
    model = case.model
    again = pickle.loads(pickle.dumps(model))
    assert_same_numbers(again, numbers(model))
    assert repr(again) == repr(model)
    for key in ("states", "actions", "observations", "costs"):
        assert list(getattr(again, key)) == list(getattr(model, key))
    assert_array_equal([t.toarray() for t in again.transition], case.T)


def test_pickling_leaves_out_what_can_be_computed():
    model = CPOMDP(**parts())
    before = len(pickle.dumps(model))
    assert model.transition
    assert model.fingerprint
    assert len(pickle.dumps(model)) == before


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "CPOMDP: 3 states, 2 actions, 2 observations, 2 costs, discount 0.9, budget 5, 1"),
        (
            {"name": "rover"},
            "CPOMDP 'rover': 3 states, 2 actions, 2 observations, 2 costs, discount 0.9, budget 5, 1",
        ),
        (
            {"cost": None, "budget": None},
            "CPOMDP: 3 states, 2 actions, 2 observations, 0 costs, discount 0.9",
        ),
        (
            {"cost": C[0], "budget": None, "discount": 0},
            "CPOMDP: 3 states, 2 actions, 2 observations, 1 cost, discount 0, budget inf",
        ),
        (
            {"budget": [0.5, 1 / 3]},
            "CPOMDP: 3 states, 2 actions, 2 observations, 2 costs, discount 0.9, budget 0.5, 0.333333333333",
        ),
    ],
)
def test_repr(changes, expected):
    assert repr(CPOMDP(**parts(**changes))) == expected


def test_repr_of_one_of_each_and_of_thousands():
    one = blind_model([[1]], [0], [1])
    assert repr(one) == "CPOMDP: 1 state, 1 action, 1 observation, 0 costs, discount 0.5"
    many = blind_model(sp.eye_array(1234), np.zeros(1234), np.eye(1234)[0])
    assert repr(many) == "CPOMDP: 1,234 states, 1 action, 1 observation, 0 costs, discount 0.5"


# The strategy itself


@quick
@given(cpomdps(max_states=4, max_actions=2, max_observations=2, n_costs=1, min_states=2))
def test_the_strategy_keeps_to_its_sizes(case: Dense):
    model = case.model
    assert 2 <= model.n_states <= 4
    assert model.n_actions <= 2
    assert model.n_observations <= 2
    assert model.n_costs == 1
    assert model.discount in DISCOUNTS


def test_the_strategy_reaches_every_structure():
    rng = np.random.default_rng(0)
    case = random_model(rng, 30, 4, 5, 2, density=0.3, n_terminal=3, n_free_actions=2, support=4)
    assert (case.T == 0).mean() > 0.4
    assert case.model.terminal.sum() == 3
    assert ((case.C == 0).all(axis=(0, 1))).sum() == 2
    assert (case.model.initial_belief > 0).sum() == 4
    blind = random_model(rng, 5, 20, blind=0.5, deterministic=0.0).Z
    assert 0 < (blind[:, :1] == blind).all(axis=(1, 2)).sum() < 20
    assert (random_model(rng, deterministic=1.0).T.max(axis=2) == 1).all()
    assert (random_model(rng, density=1.0, deterministic=0.0).T > 0).all()
    assert (random_model(rng, cost_density=0.0).C == 0).all()
    assert len({(random_belief(rng, 5) > 0).sum() for _ in range(50)}) == 5


def test_the_same_seed_gives_the_same_model():
    first, second = (random_model(np.random.default_rng(7)).model for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != random_model(np.random.default_rng(8)).model.fingerprint
