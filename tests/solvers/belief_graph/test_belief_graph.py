"""The belief-graph search: bounds, beliefs, rays and plans against plain NumPy, on random models and odd ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
import reference
from rcpomdp.kernels.belief_graph.store import NONE
from rcpomdp.model import beliefs
from rcpomdp.solvers.belief_graph import search as graph_search_module
from rcpomdp.solvers.belief_graph.search import BeliefGraphSearch, BeliefGraphSwitches, Objective
from strategies import DISCOUNTS, Dense, cpomdps, lively_models, random_belief, random_model, rngs

SETTINGS = settings(derandomize=True, deadline=None, max_examples=120)
NEAR_ONE = 1 - np.exp(-14)

VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no rays": {"rays": False},
    "all rays": {"least_weight": 1e-4},
    "no sawtooth": {"sawtooth": False},
    "backups alone": {"sawtooth": False, "rays": False},
    "all points": {"least_drop": 0.0},
    "no classes": {"classes": False},
    "no fib": {"fib": False},
    "all actions": {"lazy_actions": False},
    "nothing forgotten": {"forget": False},
    "sharp targets": {"share": 0.0, "wide_share": 0.0},
    "blunt targets": {"share": 0.9, "wide_share": 0.9},
}


@pytest.fixture(autouse=True, scope="module")
def _forgetful() -> Iterator[None]:
    """Small models make few plans: look for idle ones early."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_search_module, "_FIRST_FORGET", 10)
        yield


class Found:
    """What a search holds, as plain arrays in its own numbering of states."""

    def __init__(self, case: Dense, graph_search: BeliefGraphSearch) -> None:
        s, n = graph_search.store, graph_search.sizes[0]
        self.graph_search = graph_search
        self.case = reference.renumbered(case, graph_search.classes.order)
        self.gain = gain_of(self.case, graph_search.objective)
        self.tolerance = reference.tolerance(case, np.concatenate([self.gain[None], case.R[None], case.C]))
        self.info = s.info[:n]
        self.beliefs = np.zeros((n, case.model.n_states))
        for i, (states, probs, size) in enumerate(self.info[["states", "probs", "size"]]):
            self.beliefs[i, s.state[states : states + size]] = s.prob[probs : probs + size]

    def edges(self, i: int, a: int) -> list[tuple[int, float, int]]:
        """(observation, probability, belief) of an expanded action."""
        s = self.graph_search.store
        first = s.edge[i, a]
        last = first + s.degree[i, a]
        return [(int(s.edge_obs[e]), float(s.edge_prob[e]), int(s.edge_child[e])) for e in range(first, last)]

    def vectors(self, plan: int) -> np.ndarray:
        """A plan's vectors [rows, size of its class]."""
        g, start = self.graph_search.plans, self.graph_search.space.start
        cls = g.info["cls"][plan]
        rows, size = len(self.graph_search.space.gain), start[cls + 1] - start[cls]
        at = g.info["values"][plan]
        return g.value[at : at + rows * size].reshape(rows, size)

    def followers(self, plan: int) -> dict[int, int]:
        """The plan that follows each observation."""
        g, x = self.graph_search.plans, self.graph_search.space
        pair = g.info["cls"][plan] * self.case.model.n_actions + g.info["action"][plan]
        seen = x.seen_obs[x.seen_ptr[pair] : x.seen_ptr[pair + 1]]
        links = g.link[g.info["links"][plan] :]
        return {int(o): int(links[f]) for f, o in enumerate(seen)}

    def plans(self) -> list[int]:
        """All plans of classes that can be reached."""
        classes = self.graph_search.plans.info["cls"][: self.graph_search.sizes[1]]
        return np.flatnonzero(self.graph_search.classes.reachable[classes]).tolist()


def gain_of(case: Dense, objective: Objective) -> np.ndarray:
    return objective.reward * case.R - np.tensordot(objective.costs, case.C, axes=1)


@st.composite
def objectives(draw: st.DrawFn, case: Dense) -> Objective:
    """The reward, a cost (ties broken by reward or not), or R − λ·C."""
    n_costs = case.model.n_costs
    kind = draw(st.sampled_from(("reward", "cost", "both")), label="objective") if n_costs else "reward"
    if kind == "reward":
        return Objective(1.0, np.zeros(n_costs))
    if kind == "cost":
        k = draw(st.integers(0, n_costs - 1), label="cost")
        return Objective(draw(st.sampled_from((0.0, 1e-6)), label="tie break"), np.eye(n_costs)[k])
    weights = [draw(st.sampled_from((0.0, 0.5, 3.0)), label="weight") for _ in range(n_costs)]
    return Objective(1.0, np.array(weights))


def variants() -> st.SearchStrategy[BeliefGraphSwitches]:
    return st.sampled_from(list(VARIANTS)).map(lambda name: BeliefGraphSwitches(**VARIANTS[name]))


def models(discounts: Sequence[float] = DISCOUNTS, n_costs: int | None = None) -> st.SearchStrategy[Dense]:
    """Models that keep a search busy, and some odd ones."""
    lively = lively_models([d for d in discounts if d > 0], n_costs)
    return st.one_of(
        lively, lively, lively, cpomdps(max_states=5, max_observations=3, discounts=discounts, n_costs=n_costs)
    )


def searched(
    case: Dense, objective: Objective, switches: BeliefGraphSwitches, *, epsilon: float, work: int
) -> BeliefGraphSearch:
    graph_search = BeliefGraphSearch(case.model, objective, switches)
    graph_search.search(epsilon, work)
    return graph_search


# Bounds


@SETTINGS
@given(st.data(), models(), variants())
def test_bounds_enclose_the_value_found_by_expansion(
    data: st.DataObject, case: Dense, switches: BeliefGraphSwitches
) -> None:
    objective = data.draw(objectives(case))
    gain = gain_of(case, objective)
    low, high = reference.value_interval(case, gain, case.model.initial_belief)
    loose = reference.tolerance(case, gain)
    graph_search = BeliefGraphSearch(case.model, objective, switches)
    for work in (0, 100, 1000, 10_000):
        graph_search.search(1e-6, work)
        assert graph_search.lower <= high + loose
        assert graph_search.upper >= low - loose
        assert graph_search.lower <= graph_search.upper + loose


@settings(SETTINGS, max_examples=40)
@given(lively_models((0.5, 0.75)))
def test_bounds_close_on_what_point_based_iteration_attains(case: Dense) -> None:
    """Both sides are tight, so that little room is left to be wrong in."""
    graph_search = searched(
        case, Objective(1.0, np.zeros(case.model.n_costs)), BeliefGraphSwitches(), epsilon=1e-3, work=6_000_000
    )
    # Few models need more, and which are drawn depends on this very text.
    while graph_search.gap > 0.3 and graph_search.work < 200_000_000:
        graph_search.search(1e-3, 6_000_000)
    found = Found(case, graph_search)
    points = found.beliefs[:150]
    attained = (points @ reference.point_vectors(found.case, found.gain, points, sweeps=70).T).max(axis=1)
    assert attained[0] <= graph_search.upper + 1e-9
    assert attained[0] >= graph_search.lower - 0.05
    assert graph_search.upper - graph_search.lower <= 0.3
    assert (attained <= found.info["upper"][:150] + 1e-9).all()


@settings(SETTINGS, max_examples=40)
@given(st.data(), models((0.5, 0.95)))
def test_every_switch_gives_bounds_that_move_one_way_and_overlap(data: st.DataObject, case: Dense) -> None:
    objective = data.draw(objectives(case))
    gain = gain_of(case, objective)
    low, high = reference.value_interval(case, gain, case.model.initial_belief)
    loose = reference.tolerance(case, gain)
    for switches in VARIANTS.values():
        graph_search = BeliefGraphSearch(case.model, objective, BeliefGraphSwitches(**switches))
        before = np.array([[np.inf, -np.inf]])
        for work in (0, 30, 30, 300, 3000, 10_000):
            graph_search.search(1e-6, work)
            now = np.stack(
                [graph_search.store.info[bound][: graph_search.sizes[0]] for bound in ("upper", "lower")], axis=1
            )
            old = now[: len(before)]
            assert (old[:, 0] <= before[:, 0]).all()
            assert (old[:, 1] >= before[:, 1]).all()
            before = now
        low, high = max(low, graph_search.lower), min(high, graph_search.upper)
        assert low <= high + loose, switches


@settings(SETTINGS, max_examples=40)
@given(st.data(), lively_models((0.8, 0.95)), variants())
def test_bounds_hold_at_every_belief(data: st.DataObject, case: Dense, switches: BeliefGraphSwitches) -> None:
    """No policy does better than an upper bound at any belief of the store, tips of rays included."""
    found = Found(case, searched(case, data.draw(objectives(case)), switches, epsilon=1e-5, work=10_000))
    some = found.beliefs[:: 1 + len(found.beliefs) // 80]
    attained = (found.beliefs @ reference.point_vectors(found.case, found.gain, some, sweeps=60).T).max(axis=1)
    assert (attained <= found.info["upper"] + found.tolerance).all()
    assert (found.info["lower"] <= found.info["upper"] + found.tolerance).all()
    best = found.beliefs[: len(some)] @ reference.solve_mdp(found.case.T, found.gain.T, case.model.discount)[1]
    assert (found.info["lower"][: len(some)] <= best + found.tolerance).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_model_that_ends_has_tight_bounds_near_discount_one(seed: int) -> None:
    """Everything ends for sure, so that the value is no larger than with a discount that is not near 1."""
    rng = np.random.default_rng(seed)
    case = random_model(rng, n_states=5, n_actions=2, n_observations=2, n_terminal=1, discount=NEAR_ONE, density=1.0)
    low, high = reference.value_interval(case, case.R, case.model.initial_belief, size=300)
    graph_search = searched(case, Objective(1.0, np.zeros(1)), BeliefGraphSwitches(), epsilon=1e-3, work=300_000)
    assert graph_search.lower <= high + 1e-6
    assert graph_search.upper >= low - 1e-6
    assert abs(graph_search.upper) < 1e3


# Beliefs and rays


def check_store(found: Found) -> int:
    """Each belief is a distribution within one class and stands there once; edges are Bayes' rule; rays mix."""
    graph_search, b = found.graph_search, found.beliefs
    np.testing.assert_allclose(b.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    class_of = graph_search.space.class_of
    for i in range(len(b)):
        support = np.flatnonzero(b[i])
        assert len(support) == found.info["size"][i]
        assert (class_of[support] == found.info["cls"][i]).all()
    for i in range(len(b)):  # none of the later ones is the same but for rounding
        assert not (np.abs(b[i + 1 :] - b[i]) <= 1e-14 * b[i]).all(axis=1).any()
    expanded = np.argwhere(graph_search.store.edge[: len(b)] != NONE)
    assert len(expanded) or graph_search.trials == 0
    for i, a in expanded[:: 1 + len(expanded) // 300]:
        support = np.flatnonzero(b[i]).astype(np.int32)
        expected = beliefs.branches(graph_search.ordered, beliefs.Belief(support, b[i, support]), int(a))
        edges = {o: (p, child) for o, p, child in found.edges(i, a)}
        assert sorted(edges) == [branch.observation for branch in expected]
        for o, p, belief in expected:
            assert edges[o][0] == pytest.approx(p, rel=1e-9)
            np.testing.assert_allclose(b[edges[o][1]], belief.dense(b.shape[1]), rtol=1e-9, atol=1e-300)
    with_ray = np.flatnonzero(found.info["base"] != NONE)
    weight = found.info["weight"][with_ray][:, None]
    assert ((weight > 0) & (weight < 1)).all()
    mixed = weight * b[found.info["base"][with_ray]] + (1 - weight) * b[found.info["tip"][with_ray]]
    np.testing.assert_allclose(mixed, b[with_ray], rtol=0, atol=1e-9)
    assert (found.info["cls"][with_ray] == found.info["cls"][found.info["base"][with_ray]]).all()
    return len(with_ray)


@SETTINGS
@given(st.data(), models(), variants())
def test_the_store_is_sound(data: st.DataObject, case: Dense, switches: BeliefGraphSwitches) -> None:
    found = Found(case, searched(case, data.draw(objectives(case)), switches, epsilon=1e-6, work=5_000))
    n_rays = check_store(found)
    assert switches.rays or not n_rays
    assert found.graph_search.root == 0
    np.testing.assert_array_equal(found.beliefs[0], case.model.initial_belief[found.graph_search.classes.order])


@pytest.mark.parametrize("least_weight", [0.02, 1e-6])
def test_noisy_models_have_rays_that_mix(least_weight: float) -> None:
    n_rays = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        case = random_model(rng, 4, 2, 3, 0, density=1.0, deterministic=0.0, discount=0.9)
        switches = BeliefGraphSwitches(least_weight=least_weight)
        n_rays += check_store(
            Found(case, searched(case, Objective(1.0, np.zeros(0)), switches, epsilon=0, work=10_000))
        )
    assert n_rays > 1000


def test_rays_mix_where_a_belief_follows_itself() -> None:
    """Under action 1 and observation 0 the uniform belief stays, while the ends of its ray move.

    Looking from (0.7, 0.3) leads to the uniform belief. If its ray is replaced by one that comes back to it, what it
    hands on to its other successors must still be the ray that their ends belong to.
    """
    n_rays = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p, q, share, *heard = rng.uniform(0.05, 0.95, 5)
        move = np.array([[p, 1 - p], [q, 1 - q]])
        silent = share / move.sum(axis=0) * move.sum(axis=0).min()  # p(silence, s' | uniform) is the same for both s'
        model = rc.CPOMDP(
            transition=[np.eye(2), move],
            observation=[
                [[0.3, 0.5, 0.2], [0.7, 0.1, 0.2]],
                np.stack([silent, (1 - silent) * heard, (1 - silent) * (1 - np.array(heard))], axis=1),
            ],
            reward=rng.integers(-5, 6, (2, 2)),
            initial_belief=[0.7, 0.3],
            discount=0.9,
        )
        case = reference.dense(model)
        found = Found(
            case, searched(case, Objective(1.0, np.zeros(0)), BeliefGraphSwitches(), epsilon=1e-4, work=10_000)
        )
        n_rays += check_store(found)
    assert n_rays > 500


@pytest.mark.parametrize("difference", [1e-6, 1e-9, 1e-10, 1e-11, 1e-13])
def test_rays_mix_when_observations_nearly_agree(difference: float) -> None:
    """What a tip leaves out must be rounding, not a state that is only a little more likely than the least one."""
    heard = np.array([0.3, 0.3 * (1 + difference), 0.6])
    model = rc.CPOMDP(
        transition=[np.eye(3), [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]],
        observation=[np.stack([heard, 1 - heard], axis=1)] * 2,
        reward=[[1, 0], [0, 3], [2, -1]],
        initial_belief=[0.2, 0.5, 0.3],
        discount=0.9,
    )
    case = reference.dense(model)
    found = Found(case, searched(case, Objective(1.0, np.zeros(0)), BeliefGraphSwitches(), epsilon=0, work=20_000))
    assert check_store(found) > 10
    with_ray = np.flatnonzero(found.info["base"] != NONE)
    weight, b = found.info["weight"][with_ray][:, None], found.beliefs
    mixed = weight * b[found.info["base"][with_ray]] + (1 - weight) * b[found.info["tip"][with_ray]]
    np.testing.assert_allclose(mixed, b[with_ray], rtol=0, atol=2e-11)


@pytest.mark.parametrize("switches", [{}, {"least_drop": 0.0, "lazy_actions": False}], ids=["as it is", "all points"])
def test_the_store_survives_growth(switches: dict[str, Any]) -> None:
    case = random_model(np.random.default_rng(0), 4, 2, 3, 1, density=1.0, deterministic=0.0, discount=0.9)
    graph_search = BeliefGraphSearch(case.model, Objective(1.0, np.zeros(1)), BeliefGraphSwitches(**switches))
    room, small = graph_search.memory, len(graph_search.store.info)
    graph_search.search(0, 100_000)
    assert graph_search.sizes[0] > small
    assert graph_search.memory > room
    assert graph_search.store.table.shape[1] >= 2 * len(graph_search.store.info)
    found = Found(case, graph_search)
    assert check_store(found) > 100
    check_lists(found)


# Plans


def check_plans(found: Found) -> None:
    """Vectors of every plan are what the plan graph accumulates, at every state of the plan's class."""
    graph_search, case, gamma = found.graph_search, found.case, found.case.model.discount
    plans, start = found.plans(), graph_search.space.start
    only_reward = not case.model.n_costs and graph_search.objective.reward == 1
    keeps = [case.R] if only_reward else [found.gain, case.R, *case.C]
    assert len(graph_search.space.gain) == len(keeps)
    first = dict(zip(plans, np.cumsum([0] + [found.vectors(p).shape[1] for p in plans])[:-1].tolist(), strict=True))
    n = sum(found.vectors(p).shape[1] for p in plans)
    chain, gain, claimed = np.zeros((n, n)), np.empty((n, len(keeps))), np.empty((n, len(keeps)))
    for plan in plans:
        cls, a = graph_search.plans.info[["cls", "action"]][plan]
        members = slice(start[cls], start[cls + 1])
        rows = slice(first[plan], first[plan] + start[cls + 1] - start[cls])
        gain[rows] = np.stack([g[members, a] for g in keeps], axis=1)
        claimed[rows] = found.vectors(plan).T
        step = case.T[a][members]  # [size, S]
        left = np.ones(len(case.R))
        for o, after in found.followers(plan).items():
            c = graph_search.plans.info["cls"][after]
            there = slice(start[c], start[c + 1])
            columns = slice(first[after], first[after] + start[c + 1] - start[c])
            chain[rows, columns] += step[:, there] * case.Z[a][there, o]
            left[there] -= case.Z[a][there, o]
        # Whatever can be observed has a successor in the class it leads to.
        np.testing.assert_allclose(left[step.any(axis=0)], 0.0, rtol=0, atol=1e-12)
    exact = np.linalg.solve(np.eye(n) - gamma * chain, gain)
    np.testing.assert_allclose(claimed, exact, rtol=0, atol=found.tolerance)


def check_lists(found: Found) -> None:
    """Beliefs point at the plan they take their bound from, and lists of plans and points run from young to old."""
    graph_search = found.graph_search
    with_plan = np.flatnonzero(found.info["plan"] != NONE)
    for i in with_plan:
        plan, cls = found.info["plan"][i], found.info["cls"][i]
        assert graph_search.plans.info["cls"][plan] == cls
        here = found.beliefs[i, graph_search.space.start[cls] : graph_search.space.start[cls + 1]]
        assert found.vectors(plan)[0] @ here == pytest.approx(found.info["lower"][i], abs=found.tolerance)
    for cls in range(graph_search.classes.n_classes):
        plan, listed = graph_search.plans.newest[cls], []
        while plan != NONE:
            assert graph_search.plans.info["cls"][plan] == cls
            listed.append(int(plan))
            plan = graph_search.plans.info["older"][plan]
        assert listed == sorted(set(listed), reverse=True)
        assert graph_search.plans.default[cls] in listed
        assert set(found.info["plan"][with_plan][found.info["cls"][with_plan] == cls]) <= set(listed)
        point, points = graph_search.store.newest[cls], []
        while point != NONE:
            points.append(int(graph_search.store.point[point]))
            assert found.info["point"][points[-1]] == point
            assert graph_search.store.older[point] < point
            point = graph_search.store.older[point]
        assert sorted(points) == np.flatnonzero((found.info["point"] != NONE) & (found.info["cls"] == cls)).tolist()


@SETTINGS
@given(st.data(), models(), variants())
def test_vectors_are_what_the_plan_graph_accumulates(
    data: st.DataObject, case: Dense, switches: BeliefGraphSwitches
) -> None:
    found = Found(case, searched(case, data.draw(objectives(case)), switches, epsilon=1e-4, work=2000))
    check_plans(found)
    check_lists(found)


@pytest.mark.parametrize("forget", [True, False])
def test_idle_plans_leave_the_lists_but_not_the_graph(forget: bool) -> None:
    case = reference.dense(rc.problems.make("tiger", discount=0.95))
    switches = BeliefGraphSwitches(forget=forget)
    found = Found(case, searched(case, Objective(1.0, np.zeros(1)), switches, epsilon=0.01, work=100_000))
    listed, plan = 0, found.graph_search.plans.newest[0]
    while plan != NONE:
        listed, plan = listed + 1, found.graph_search.plans.info["older"][plan]
    assert found.graph_search.sizes[1] > 50
    assert (listed < found.graph_search.sizes[1]) == forget
    check_lists(found)
    check_plans(found)


def sure_costs_hold(found: Found, plan: int, start: np.ndarray, depth: int) -> None:
    """Follow a plan through all observations and compare what was spent with what it promised."""
    case, sure = found.case, found.graph_search.plans.sure[plan]
    front = [(start, plan, np.zeros(case.model.n_costs))]
    for t in range(depth):
        following = []
        for b, at, spent in front:
            a = found.graph_search.plans.info["action"][at]
            after = spent + case.model.discount**t * (b @ case.C[:, :, a].T)
            assert (after <= sure + 1e-9).all()
            followers = found.followers(at)
            following += [(b_next, followers[o], after) for o, _, b_next in reference.branches(case, b, a)]
        front = following[:150]


@SETTINGS
@given(st.data(), models((0.5, 0.95), n_costs=2), variants(), rngs())
def test_no_history_exceeds_a_plans_sure_cost(
    data: st.DataObject, case: Dense, switches: BeliefGraphSwitches, rng: np.random.Generator
) -> None:
    found = Found(case, searched(case, data.draw(objectives(case)), switches, epsilon=1e-4, work=3000))
    graph_search = found.graph_search
    sure_costs_hold(found, graph_search.best_plan, found.beliefs[graph_search.root], depth=7)
    reachable = [graph_search.best_plan]
    for plan in reachable:
        reachable += [p for p in found.followers(plan).values() if p not in reachable]
    for plan in reachable[:15]:
        cls = graph_search.plans.info["cls"][plan]
        members = np.arange(graph_search.space.start[cls], graph_search.space.start[cls + 1])
        anywhere = np.zeros(case.model.n_states)
        anywhere[members] = random_belief(rng, len(members))
        sure_costs_hold(found, plan, anywhere, depth=4)
        peak = found.case.C[:, members, graph_search.plans.info["action"][plan]].max(axis=1)
        worst = np.max([graph_search.plans.sure[p] for p in found.followers(plan).values()], axis=0)
        if plan >= graph_search.classes.n_classes * case.model.n_actions:  # blind ones are rounded up
            np.testing.assert_allclose(graph_search.plans.sure[plan], peak + case.model.discount * worst, rtol=1e-12)


def test_sure_cost_is_no_maximum_over_trajectories() -> None:
    """One of two states costs 1 now, the other 1 later: no trajectory pays both, a belief pays ½ + γ.

    What is observed in between rules out the state that weighed in before.
    """
    gamma = 0.9
    T = np.zeros((1, 5, 5))
    T[0, [0, 1, 2, 3, 4], [2, 3, 4, 4, 4]] = 1
    Z = np.zeros((1, 5, 3))
    Z[0, [0, 1, 2, 3, 4], [0, 0, 1, 2, 0]] = 1
    model = rc.CPOMDP(
        transition=T,
        observation=Z,
        reward=np.zeros((5, 1)),
        cost=[[1], [0], [0], [1], [0]],
        initial_belief=[0.5, 0.5, 0, 0, 0],
        discount=gamma,
    )
    graph_search = searched(
        reference.dense(model), Objective(1.0, np.zeros(1)), BeliefGraphSwitches(), epsilon=0, work=1000
    )
    sure = graph_search.plans.sure[graph_search.best_plan, 0]
    assert sure >= 0.5 + gamma > max(1, gamma)
    assert sure == pytest.approx(1 + gamma)
    _, cost, sure_cost = graph_search.best_totals()
    assert cost == pytest.approx([0.5 + 0.5 * gamma])
    assert sure_cost == pytest.approx([1 + gamma])


# Other objectives


@settings(SETTINGS, max_examples=40)
@given(models((0.5, 0.95), n_costs=2), variants())
def test_another_objective_on_the_same_search(case: Dense, switches: BeliefGraphSwitches) -> None:
    graph_search = searched(case, Objective(1.0, np.zeros(2)), switches, epsilon=1e-4, work=3000)
    for objective in (
        Objective(1.0, np.array([0.5, 2.0])),
        Objective(0.0, np.array([1.0, 0.0])),
        Objective(1.0, np.zeros(2)),
    ):
        gain = gain_of(case, objective)
        loose = reference.tolerance(case, np.concatenate([gain[None], case.R[None], case.C]))
        low, high = reference.value_interval(case, gain, case.model.initial_belief)
        cold = searched(case, objective, switches, epsilon=1e-4, work=3000)
        graph_search.retarget(objective)
        for work in (0, 100, 3000):
            graph_search.search(1e-4, work)
            assert max(low, cold.lower) <= graph_search.upper + loose
            assert graph_search.lower <= min(high, cold.upper) + loose
        found = Found(case, graph_search)
        check_lists(found)
        for plan in found.plans():
            rows = found.vectors(plan)
            weighed = objective.reward * rows[1] - objective.costs @ rows[2:]
            np.testing.assert_allclose(rows[0], weighed, rtol=0, atol=loose)
    check_store(found)
    if graph_search.sizes[1] <= 300:
        check_plans(found)


def test_a_search_without_costs_goes_on_with_its_reward() -> None:
    case = random_model(np.random.default_rng(0), n_costs=0)
    graph_search = searched(case, Objective(1.0, np.zeros(0)), BeliefGraphSwitches(), epsilon=1e-3, work=1000)
    before = (graph_search.lower, graph_search.upper, graph_search.sizes)
    graph_search.retarget(Objective(1.0, np.zeros(0)))
    assert (graph_search.lower, graph_search.upper, graph_search.sizes) == before


@pytest.mark.parametrize("share", [0.0, 0.5, 3.0])
def test_a_share_of_the_reward_is_an_objective_without_costs(share: float) -> None:
    case = random_model(np.random.default_rng(7), 3, 2, 2, 0, density=1.0, deterministic=0.0, discount=0.5)
    low, high = reference.value_interval(case, case.R, case.model.initial_belief, size=300)
    graph_search = searched(case, Objective(share, np.zeros(0)), BeliefGraphSwitches(), epsilon=1e-3, work=10_000)
    assert graph_search.lower <= share * high + 1e-9
    assert graph_search.upper >= share * low - 1e-9
    assert graph_search.upper - graph_search.lower <= 0.1
    check_plans(Found(case, graph_search))
    reward, cost, sure = graph_search.best_totals()
    assert reward == pytest.approx(graph_search.lower / share if share else reward)
    assert cost.shape == sure.shape == (0,)


# The search as a whole


def test_the_search_has_no_random_choices() -> None:
    case = random_model(np.random.default_rng(3), 5, 3, 3, 1, density=1.0, deterministic=0.0)
    runs = []
    for _ in range(2):
        graph_search, steps = BeliefGraphSearch(case.model, Objective(1.0, np.array([0.3]))), []
        for work in (100, 1000, 10_000, 30_000):
            graph_search.search(1e-9, work)
            steps.append(
                (graph_search.lower, graph_search.upper, graph_search.sizes, graph_search.trials, graph_search.work)
            )
        runs.append(
            (
                steps,
                graph_search.store.info[["weight", "upper", "lower"]][: graph_search.sizes[0]].tobytes(),
                graph_search.policy().actions.tolist(),
            )
        )
    assert runs[0] == runs[1]
    assert runs[0][0][0] != runs[0][0][-1]


def test_work_and_epsilon_stop_a_search() -> None:
    case = random_model(np.random.default_rng(3), 4, 2, 2, 0, density=1.0, deterministic=0.0, discount=0.8)
    graph_search = BeliefGraphSearch(case.model, Objective(1.0, np.zeros(0)))
    start = (graph_search.lower, graph_search.upper, graph_search.sizes, graph_search.work)
    graph_search.search(1e-9, 0)
    assert (graph_search.lower, graph_search.upper, graph_search.sizes, graph_search.work) == start
    graph_search.search(1e6, 10**9)
    assert (graph_search.lower, graph_search.upper, graph_search.sizes, graph_search.work) == start
    graph_search.search(1e-9, 1000)
    assert 1000 <= graph_search.work - start[-1] < 100_000
    assert graph_search.upper - graph_search.lower > 0.3
    graph_search.search(0.3, 10**7)
    assert 0.1 < graph_search.upper - graph_search.lower <= 0.3


# Odd models


def one_of_each(**changes: Any) -> rc.CPOMDP:
    parts = {
        "transition": [[[1.0]]],
        "observation": [[[1.0]]],
        "reward": [[2.0]],
        "initial_belief": [1.0],
        "discount": 0.75,
    }
    return rc.CPOMDP(**(parts | changes))


def solved(model: rc.CPOMDP, work: int = 100_000) -> Found:
    case = reference.dense(model)
    graph_search = searched(
        case, Objective(1.0, np.zeros(model.n_costs)), BeliefGraphSwitches(), epsilon=1e-9, work=work
    )
    found = Found(case, graph_search)
    check_store(found)
    check_lists(found)
    if graph_search.sizes[1] <= 400:
        check_plans(found)
    return found


def test_one_state_one_action_one_observation() -> None:
    found = solved(one_of_each(cost=[[1.0]]))
    assert found.graph_search.lower == pytest.approx(8)
    assert found.graph_search.upper == pytest.approx(8)
    reward, cost, sure = found.graph_search.best_totals()
    assert (reward, cost, sure) == (pytest.approx(8), pytest.approx([4]), pytest.approx([4]))
    policy = found.graph_search.policy()
    assert policy.actions.tolist() == [0]


@pytest.mark.parametrize("discount", [0.0, 0.5, NEAR_ONE])
def test_one_state_with_three_actions(discount: float) -> None:
    model = one_of_each(
        transition=[[[1.0]]] * 3, observation=[[[1.0]]] * 3, reward=[[1.0, 3.0, -2.0]], discount=discount
    )
    graph_search = solved(model).graph_search
    assert graph_search.lower == pytest.approx(3 / (1 - discount))
    assert graph_search.upper == pytest.approx(3 / (1 - discount))
    assert graph_search.policy().actions[0] == 1


@SETTINGS
@given(cpomdps(max_states=5, max_actions=1, max_observations=1, discounts=(0.0, 0.5, 0.95)))
def test_without_choice_the_value_is_that_of_the_chain(case: Dense) -> None:
    value = case.model.initial_belief @ reference.blind_vectors(case, case.R)[0]
    graph_search = solved(case.model).graph_search
    assert graph_search.lower == pytest.approx(value, abs=1e-6)
    assert graph_search.upper >= value - 1e-9
    np.testing.assert_allclose(
        graph_search.best_totals()[1],
        [case.model.initial_belief @ reference.blind_vectors(case, c)[0] for c in case.C],
        rtol=0,
        atol=1e-9,
    )


@pytest.mark.parametrize("n_costs", [0, 1])
def test_unreachable_states_play_no_part(n_costs: int) -> None:
    """States that pay or cost a fortune, but that nothing leads to."""
    small = random_model(np.random.default_rng(5), 3, 2, 2, n_costs, density=1.0, deterministic=0.0, discount=0.5)
    T, Z = np.zeros((2, 6, 6)), np.zeros((2, 6, 2))
    T[:, :3, :3], Z[:, :3] = small.T, small.Z
    T[:, 3:], Z[:, 3:] = 1 / 6, 1 / 2  # they lead anywhere
    R = np.concatenate([small.R, np.full((3, 2), 1e6)])
    C = np.concatenate([small.C, np.full((n_costs, 3, 2), 1e6)], axis=1)
    large = rc.CPOMDP(
        transition=T,
        observation=Z,
        reward=R,
        cost=C if n_costs else None,
        initial_belief=np.concatenate([small.model.initial_belief, np.zeros(3)]),
        discount=0.5,
    )
    expected, graph_search = solved(small.model, 30_000).graph_search, solved(large, 30_000).graph_search
    assert not graph_search.classes.reachable.all()
    loose = 1e-6 + expected.upper - expected.lower + graph_search.upper - graph_search.lower
    assert loose < 0.1
    assert graph_search.lower == pytest.approx(expected.lower, abs=loose)
    assert graph_search.upper == pytest.approx(expected.upper, abs=loose)
    assert (graph_search.best_totals()[2] <= small.C.max(initial=0) / 0.5 * (1 + 1e-9)).all()


def test_all_states_terminal() -> None:
    model = rc.CPOMDP(
        transition=[np.eye(3)] * 2,
        observation=[np.ones((3, 1))] * 2,
        reward=np.zeros((3, 2)),
        cost=np.zeros((3, 2)),
        initial_belief=[0.2, 0.3, 0.5],
        discount=0.95,
    )
    graph_search = solved(model).graph_search
    assert (graph_search.lower, graph_search.upper) == (0.0, 0.0)
    assert graph_search.best_totals()[2].tolist() == [0.0]


def test_no_reward_at_all() -> None:
    case = random_model(np.random.default_rng(1), n_states=4, n_observations=2, discount=0.95)
    found = solved(case.model._changed(arrays=case.model.arrays._replace(reward=np.zeros_like(case.R))))
    assert found.graph_search.lower == pytest.approx(0, abs=1e-12)
    assert found.graph_search.upper == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scale", [1e9, 1e-9])
def test_huge_and_tiny_rewards_are_only_a_matter_of_scale(scale: float) -> None:
    case = random_model(np.random.default_rng(2), 4, 2, 2, 1, density=1.0, deterministic=0.0, discount=0.9)
    scaled = case.model._changed(arrays=case.model.arrays._replace(reward=case.R * scale))
    plain = searched(case, Objective(1.0, np.zeros(1)), BeliefGraphSwitches(), epsilon=1e-4, work=20_000)
    other = BeliefGraphSearch(scaled, Objective(1.0, np.zeros(1)))
    other.search(1e-4 * scale, 20_000)
    low, high = reference.value_interval(case, case.R, case.model.initial_belief)
    assert low * scale <= other.upper + 1e-9 * scale
    assert other.lower <= high * scale + 1e-9 * scale
    assert other.lower == pytest.approx(plain.lower * scale, rel=1e-3)
    assert other.upper == pytest.approx(plain.upper * scale, rel=1e-3)
    check_plans(Found(reference.dense(scaled), other))


def test_five_costs() -> None:
    case = random_model(np.random.default_rng(4), 3, 2, 2, 5, discount=0.9)
    weights = np.array([0.1, 0.0, 2.0, 0.5, 1.0])
    graph_search = searched(case, Objective(1.0, weights), BeliefGraphSwitches(), epsilon=1e-4, work=3000)
    found = Found(case, graph_search)
    check_plans(found)
    sure_costs_hold(found, graph_search.best_plan, found.beliefs[graph_search.root], depth=6)
    reward, cost, sure = graph_search.best_totals()
    assert cost.shape == sure.shape == (5,)
    assert (cost <= sure + 1e-9).all()
    assert reward - weights @ cost == pytest.approx(graph_search.lower, abs=1e-9)


def test_many_observations_and_actions() -> None:
    """More of them than there is room for at first."""
    case = random_model(np.random.default_rng(6), 3, 40, 500, 0, density=1.0, deterministic=0.0, discount=0.5)
    found = Found(case, searched(case, Objective(1.0, np.zeros(0)), BeliefGraphSwitches(), epsilon=0.1, work=200_000))
    assert found.graph_search.sizes[0] > 1024
    check_store(found)
    check_lists(found)
    high = case.model.initial_belief @ reference.solve_mdp(case.T, case.R.T, 0.5)[1]
    assert (
        reference.blind_vectors(case, case.R).min()
        <= found.graph_search.lower
        <= found.graph_search.upper
        <= high + 1e-6
    )
