"""The published ARCS: known optima, Lemma 1, bounds and policies against brute force, limits, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
import reference
from rcpomdp.bounds.maximin import maximin
from rcpomdp.kernels.arcs_published import tree
from rcpomdp.kernels.arcs_published.leaf_policy import FOREVER, admissible_horizon
from rcpomdp.policies import ControllerPolicy
from rcpomdp.solvers import Result, TracePoint
from rcpomdp.solvers.arcs_published import leaf_policy as paper_plans
from rcpomdp.solvers.arcs_published.solve import arcs_paper
from rcpomdp.solvers.arcs_published.tree import PaperSearch
from strategies import Dense, cpomdps, lively_models, random_model
from work import AMPLE, stop_after

SETTINGS = settings(derandomize=True, deadline=None, max_examples=30)


@pytest.fixture(autouse=True, scope="module")
def quick_minimum_cost() -> Iterator[None]:
    """Small models need no long search for the policy of least cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_plans, "_WORK", 10**6)
        yield


class Step(NamedTuple):
    """A history under a controller: its length, what was spent before it, and what its next step costs."""

    t: int
    spent: float
    cost: float


def unroll(case: Dense, policy: ControllerPolicy, depth: int, most: int = 3000) -> list[Step]:
    """The histories of up to `depth` steps that a controller can reach, nearest first, with dense beliefs."""
    gamma = case.model.discount
    front = [(policy.start, case.model.initial_belief, 0.0)]
    steps = []
    for t in range(depth + 1):
        following = []
        for node, b, spent in front:
            a = int(policy.actions[node])
            cost = float(b @ case.C[0, :, a])
            steps.append(Step(t, spent, cost))
            for o, _, after in reference.branches(case, b, a):
                following.append((int(policy.successors[node, o]), after, spent + gamma**t * cost))
        front = following
        if len(front) + len(steps) > most:
            break
    return steps


def optimum_interval(case: Dense, depth: int) -> tuple[float, float]:
    """Bounds on the RC-POMDP's optimum: all policies for `depth` steps, each keeping the budget on every path.

    Beyond them rewards are bounded by their largest, and what keeps the budget for sure is one action for ever.
    """
    model = case.model
    gamma, limit = model.discount, float(model.spending_limit[0])
    largest = float(np.abs(case.R).max()) / (1 - gamma)
    sure = float(case.C[0].max(axis=0).min()) / (1 - gamma)

    def value(b: np.ndarray, spent: float, t: int) -> tuple[float, float]:
        if spent > limit:
            return -np.inf, -np.inf
        if t == depth:
            return (-largest if spent + gamma**t * sure <= limit else -np.inf), largest
        best = np.array([-np.inf, -np.inf])
        for a in range(model.n_actions):
            total = np.zeros(2)
            for _, p, after in reference.branches(case, b, a):
                total += p * np.array(value(after, spent + gamma**t * float(b @ case.C[0, :, a]), t + 1))
            best = np.maximum(best, float(b @ case.R[:, a]) + gamma * total)
        return float(best[0]), float(best[1])

    return value(model.initial_belief, 0.0, 0)


def check_result(case: Dense, result: Result) -> None:
    """The policy earns and costs what the result says, keeps the budget as long as it says, and bounds move one way."""
    model = case.model
    limit = float(model.spending_limit[0])
    loose = reference.tolerance(case, np.concatenate([case.R[None], case.C]))
    assert isinstance(result.policy, ControllerPolicy)
    totals = rc.evaluate(model, result.policy)
    assert result.reward == pytest.approx(totals.reward, rel=0, abs=loose + totals.error)
    assert result.cost[0] == pytest.approx(totals.cost[0], rel=0, abs=loose + totals.error)
    assert result.sure_cost.shape == (1,)
    assert result.cost[0] <= result.sure_cost[0] + loose
    steps = unroll(case, result.policy, 8)
    assert max(step.spent for step in steps) <= result.sure_cost[0] + loose
    assert (result.solver, result.variant, result.objective) == ("arcs", "paper", "reward")
    if result.status == "infeasible":
        assert result.lower == result.upper == -np.inf
        assert result.admissible is False
        assert result.needed is not None
        assert result.suffices is not None
        assert model.budget[0] <= result.needed[0] <= result.suffices[0] + loose
        return
    assert result.lower <= result.upper
    assert result.needed is None
    if result.admissible:
        assert result.horizon is None
        assert result.sure_cost[0] <= limit + loose
        assert max(step.spent for step in steps) <= limit + loose
        assert result.lower <= result.reward
        assert result.lower == pytest.approx(result.reward, rel=0, abs=1e-6 + 10 * loose)  # rounding alone
    else:
        assert result.lower == -np.inf
        assert isinstance(result.horizon, int)
        assert max((step.spent for step in steps if step.t <= result.horizon), default=0) <= limit + loose
    for column, falls in (("lower", False), ("upper", True), ("trials", False), ("beliefs", False)):
        values = [getattr(point, column) for point in result.trace]
        assert values == sorted(values, reverse=falls)


# Known answers


def test_the_counterexample() -> None:
    """Tunnel B at once: 10, in every history within the budget of 5."""
    model = rc.problems.make("ce")
    result = arcs_paper(model)
    assert (result.status, result.admissible, result.horizon) == ("optimal", True, None)
    assert result.reward == pytest.approx(10, abs=1e-9)
    assert result.cost == pytest.approx([5], abs=1e-9)
    assert result.lower == pytest.approx(10, abs=1e-4)
    assert result.upper == pytest.approx(10, abs=1e-4)
    check_result(reference.dense(model), result)


def test_the_counterexample_with_less() -> None:
    """With 4 nothing is left: both ways cost 5 in some history. The paper's own tests see it at the second step."""
    model = rc.problems.make("ce").with_budget(4)
    result = arcs_paper(model)
    assert result.status == "infeasible"
    assert result.needed == pytest.approx([5 * model.discount])  # look, then tunnel B if it looks rocky
    check_result(reference.dense(model), result)


def test_tunnels() -> None:
    """Solved; enumeration of what can be seen gives the same optimum as other searches: 1.014."""
    model = rc.problems.make("tunnels")
    result = arcs_paper(model, epsilon=0.01)
    assert (result.status, result.admissible) == ("optimal", True)
    assert result.gap <= 0.01
    assert result.lower <= 1.01403 + 1e-5
    assert result.upper >= 1.01403 - 1e-5
    check_result(reference.dense(model), result)
    rows = rc.simulate(model, result.policy, runs=2000, steps=60, seed=1)
    assert rows.violation_rate.mean == 0


@pytest.mark.parametrize(
    ("name", "budget", "low", "high"),
    [
        # Intervals that other searches prove.
        ("tiger", 3.0, -2.780, -2.769),
        ("tiger", 1.5, -70.688, -70.677),
        ("crs-4-4", 1.0, 12.294, 12.310),
    ],
)
def test_bounds_enclose_known_optima(name: str, budget: float, low: float, high: float) -> None:
    model = rc.problems.make(name).with_budget(budget)
    result = arcs_paper(model, iterations=3000)
    assert result.admissible
    assert result.lower <= high
    assert result.upper >= low
    check_result(reference.dense(model), result)
    rows = rc.simulate(model, result.policy, runs=500, steps=40, seed=0)
    assert rows.violation_rate.mean == 0


@pytest.mark.parametrize("name", ["tunnels", "mini-hall"])
def test_without_a_budget_it_is_a_pomdp(name: str) -> None:
    model = rc.problems.make(name).with_budget(np.inf)
    free = rc.solve(model, "sarsop", epsilon=0.001, time_limit=2)
    result = arcs_paper(model, iterations=2000)
    assert result.lower <= free.upper
    assert result.upper >= free.lower
    assert result.admissible
    assert np.isfinite(result.sure_cost).all()


# Lemma 1


@SETTINGS
@given(
    st.floats(0, 20),
    st.sampled_from([0.0, 0.5, 0.9, 0.99, 1 - np.exp(-14)]),
    st.sampled_from([0.0, 0.3, 1.0, 2.0]),
    st.sampled_from([1.0, 0.5]),
)
def test_the_horizon_is_the_largest_within_budget(d: float, discount: float, c_max: float, weight: float) -> None:
    k = admissible_horizon(weight * d, weight, discount, c_max)
    if k == FOREVER:
        assert c_max / (1 - discount) <= d * (1 + 1e-12)
        return
    assert c_max > 0
    assert c_max * np.sum(discount ** np.arange(k)) <= d * (1 + 1e-9)
    assert c_max * np.sum(discount ** np.arange(k + 1)) > d * (1 - 1e-9)


def test_no_horizon_without_budget() -> None:
    assert admissible_horizon(-1e-9, 1.0, 0.9, 1.0) == 0
    assert admissible_horizon(0.0, 1.0, 0.9, 0.0) == FOREVER
    assert admissible_horizon(np.inf, 1.0, 0.9, 1.0) == FOREVER
    assert admissible_horizon(3.0, 1.0, 0.9, 1.0) == 3  # 1 + 0.9 + 0.81 ≤ 3 < 3.439
    assert admissible_horizon(10 + 1e-9, 1.0, 0.9, 1.0) == FOREVER  # the tolerance of the spending limit
    assert admissible_horizon(1.0, 0.0, 0.9, 1.0) == FOREVER  # γ^t has underflowed


@SETTINGS
@given(lively_models(n_costs=1), st.floats(0.05, 8))
def test_the_horizon_of_the_minimum_cost_policy(case: Dense, budget: float) -> None:
    """Unrolled, no step of the plan costs more than C_max, and k steps stay within the budget."""
    case = case._replace(model=case.model.with_budget(budget))
    search = PaperSearch(case.model, 1e9, 0, True)
    found = search.policy()
    if search.infeasible:
        return
    steps = unroll(case, found.policy, 8)
    c_max = float(search.setting.plan_step[search.tree.info["plan"][tree.ROOT]])
    assert max(step.cost for step in steps) <= c_max + 1e-9
    k = 10**9 if found.horizon is None else found.horizon
    assert max(step.spent for step in steps if step.t <= k) <= float(case.model.spending_limit[0])
    least = rc.solve(case.model, "sarsop", objective="cost", epsilon=0.5)
    assert found.cost >= least.lower - 1e-6


@SETTINGS
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 5))
def test_maximin(seed: int, n: int, size: int) -> None:
    """Above the least product at every belief, and attained up to a fine grid's error."""
    rng = np.random.default_rng(seed)
    vectors = rng.random((n, size)) * rng.choice([0.0, 1.0, 5.0], (n, size))
    bound = maximin(vectors)
    beliefs = np.concatenate([np.eye(size), rng.dirichlet(np.ones(size), 500)])
    assert bound >= (beliefs @ vectors.T).min(axis=1).max() - 1e-12
    mixtures = np.concatenate([np.eye(n), rng.dirichlet(np.ones(n), 500)])
    assert bound <= (mixtures @ vectors).max(axis=1).min() + 1e-6


def test_zero_cost_is_found_from_what_can_be_reached() -> None:
    """One of two states never costs; the other does, so the plan has a C_max above 0, and still k = ∞."""
    model = rc.CPOMDP(
        transition=[np.eye(2)],
        observation=[[[1.0], [1.0]]],
        reward=[[1.0], [1.0]],
        cost=[[0.0], [1.0]],
        initial_belief=[0.5, 0.5],
        discount=0.9,
        budget=0.0,
    )
    assert arcs_paper(model).status == "infeasible"
    result = arcs_paper(model.with_initial_belief([1.0, 0.0]))
    assert (result.status, result.admissible) == ("optimal", True)
    assert result.reward == pytest.approx(10)


# Brute force


def small_case(seed: int) -> Dense:
    """A model of which every history of a few steps can be looked at."""
    rng = np.random.default_rng(seed)
    return random_model(
        rng,
        int(rng.integers(2, 4)),
        2,
        2,
        discount=float(rng.choice([0.3, 0.5])),
        n_free_actions=int(rng.integers(0, 2)),
        cost_density=float(rng.choice([0.5, 1.0])),
        budget=float(rng.choice([0.0, 0.5, 1.0, 1.5, 2.5])),
    )


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_bounds_enclose_the_optimum(seed: int) -> None:
    case = small_case(seed)
    low, high = optimum_interval(case, 6)
    result = arcs_paper(case.model, iterations=500)
    assert result.lower <= high + 1e-9
    if result.status == "infeasible":
        assert low == -np.inf
    else:
        assert result.upper >= low - 1e-9
    if high == -np.inf:
        assert not result.admissible
    check_result(case, result)


def searched(case: Dense, pruning: bool) -> PaperSearch:
    """A search that has come to rest, or made 300 trials."""
    search = PaperSearch(case.model, 1e9, 0, pruning)
    search.advance(0.0, 300)
    return search


@pytest.mark.parametrize("seed", range(25))
def test_pruning_removes_no_optimum(seed: int) -> None:
    """Prop. 3: a search that prunes and one that prunes nothing enclose the same optimum."""
    case = small_case(seed)
    low, high = optimum_interval(case, 6)
    for pruning in (True, False):
        search = searched(case, pruning)
        bounds = search.point(0.0)
        assert bounds.lower <= high + 1e-9
        assert search.infeasible or bounds.upper >= low - 1e-9
        assert low == -np.inf or not search.infeasible
    pruned, whole = (arcs_paper(case.model, iterations=300, pruning=pruning) for pruning in (True, False))
    assert pruned.lower <= whole.upper + 1e-9
    assert whole.lower <= pruned.upper + 1e-9
    check_result(case, whole)
    if pruned.status == whole.status == "optimal":
        assert pruned.lower == pytest.approx(whole.lower, abs=2e-3)


def test_without_pruning_nothing_is_pruned() -> None:
    """No node is marked and no action disallowed, though a search that prunes does both on the same models."""
    marked, cut = np.zeros(2, dtype=int), np.zeros(2, dtype=int)
    for seed in range(25):
        for pruning in (False, True):
            search = searched(small_case(seed), pruning)
            rows = int(search.tree.counts["rows"][0])
            marked[int(pruning)] += (search.tree.info["status"][: search.n_nodes] == tree.PRUNED).sum()
            cut[int(pruning)] += search.tree.cut[:rows].sum()
    assert marked[0] == cut[0] == 0
    assert marked[1] > 0
    assert cut[1] > 0


def test_without_pruning_infeasibility_is_found_by_backups() -> None:
    result = arcs_paper(rc.problems.make("ce").with_budget(4), pruning=False)
    assert result.status == "infeasible"
    check_result(reference.dense(rc.problems.make("ce").with_budget(4)), result)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(cpomdps(n_costs=1))
def test_any_model(case: Dense) -> None:
    check_result(case, arcs_paper(case.model, iterations=40, epsilon=0.01))


@SETTINGS
@given(lively_models(n_costs=1), st.floats(0, 6))
def test_lively_models(case: Dense, budget: float) -> None:
    case = case._replace(model=case.model.with_budget(budget))
    check_result(case, arcs_paper(case.model, iterations=100))


@SETTINGS
@given(lively_models(n_costs=1), st.floats(0, 6))
def test_nodes_are_backups_of_their_successors(case: Dense, budget: float) -> None:
    """Beliefs, probabilities and Q-values of the tree against NumPy; what is pruned is left out."""
    search = PaperSearch(case.model.with_budget(budget), 1e9, 3, True)
    search.advance(0.0, 60)
    t, order, gamma = search.tree, search.graph_search.classes.order, case.model.discount
    ordered = reference.renumbered(case, order)
    for i in range(search.n_nodes):
        row = t.info["row"][i]
        if row == tree.NONE or t.info["status"][i] == tree.PRUNED:
            continue
        at, size = t.span["at"][row], t.span["size"][row]
        b = np.zeros(case.model.n_states)
        b[t.state[at : at + size]] = t.prob[at : at + size]
        for a in np.flatnonzero(~t.cut[row]):
            children = np.arange(t.first[row, a], t.first[row, a] + t.degree[row, a])
            following = reference.branches(ordered, b, a)
            assert t.info["obs"][children].tolist() == [o for o, _, _ in following]
            np.testing.assert_allclose(t.value["prob"][children], [p for _, p, _ in following], atol=1e-12)
            if (t.info["status"][children] == tree.PRUNED).any():
                continue
            p = t.value["prob"][children]
            spent = t.value["spent"][i] + t.value["weight"][i] * (b @ ordered.C[0, :, a])
            np.testing.assert_allclose(t.value["spent"][children], spent, atol=1e-12)
            for q, v, gain in (
                ("q_hi", "v_hi", ordered.R),
                ("q_lo", "v_lo", ordered.R),
                ("qc_hi", "c_hi", ordered.C[0]),
                ("qc_lo", "c_lo", ordered.C[0]),
            ):
                expected = b @ gain[:, a] + gamma * p @ t.value[v][children]
                assert t.q[q][row, a] == pytest.approx(expected, abs=1e-9)


# What the authors' program does, and searching while acting


def test_the_share_of_heuristic_rounds_is_what_is_drawn() -> None:
    """By chance alone the tree of C-Tiger stays shallow; by heuristics alone seeds make no difference."""
    model = rc.problems.make("tiger")
    depths = [
        [_depth(model, seed, share) for seed in (0, 1)]
        for share in (0.0, 0.5, 1.0)
    ]  # fmt: skip
    assert depths[2][0] == depths[2][1]
    assert max(depths[0]) < min(depths[1]) <= depths[2][0]


def _depth(model: rc.CPOMDP, seed: int, share: float) -> int:
    search = PaperSearch(model, 1e9, seed, heuristic_share=share)
    search.advance(0.0, 200)
    return int(search.tree.counts["depth"][0])


def test_the_first_of_ties_is_kept() -> None:
    """CRS(4,4) with half a check: to sample the rock that one stands on spends it all, and is the first action."""
    model = rc.problems.make("crs-4-4").with_budget(0.5)
    best, first = (arcs_paper(model, iterations=500, ties=ties) for ties in ("best", "first"))
    assert best.reward == pytest.approx(10 * 0.95**4)  # straight out
    assert isinstance(best.policy, ControllerPolicy)
    assert isinstance(first.policy, ControllerPolicy)
    assert model.actions[int(first.policy.actions[first.policy.start])] == "sample"
    assert first.cost == pytest.approx([0.5])
    assert first.admissible
    assert first.reward < best.reward <= first.upper
    check_result(reference.dense(model), first)
    assert rc.verify(model, first.policy).verified


def test_ties_make_no_difference_where_there_are_none() -> None:
    model = rc.problems.make("tunnels")
    best, first = (arcs_paper(model, ties=ties, iterations=3000) for ties in ("best", "first"))
    assert first.reward == pytest.approx(best.reward, abs=1e-9)
    assert first.status in ("stalled", "iteration limit")


@pytest.mark.parametrize("name", ["tiger", "tunnels", "crs-4-4"])
def test_searching_while_acting_keeps_the_budget_and_what_was_promised(name: str) -> None:
    model = rc.problems.make(name)
    plain = arcs_paper(model, iterations=300)
    acting = arcs_paper(model, iterations=300, act_time=0.002)
    assert (acting.lower, acting.reward, acting.admissible) == (plain.lower, plain.reward, True)
    runs = rc.simulate(model, acting.policy, runs=60, steps=15)
    assert runs.violation_rate.mean == 0
    still = arcs_paper(model, iterations=300, act_time=0).policy
    same = [rc.simulate(model, policy, runs=60, steps=15) for policy in (plain.policy, still)]
    np.testing.assert_allclose(same[0].outcome.reward, same[1].outcome.reward)


def test_what_acting_finds_is_never_worse() -> None:
    """Trials from a node raise what is proven there, or leave it."""
    search = PaperSearch(rc.problems.make("tiger"), 1e9, 0)
    search.advance(0.0, 200)
    proven = search.tree.value["proven"][: search.n_nodes].copy()
    sampled = np.flatnonzero(search.tree.info["row"][: search.n_nodes] != tree.NONE)
    for node in sampled[:50].tolist():
        for _ in range(20):
            search.advance_at(node, 1e-3)
    after = search.tree.value["proven"][: proven.size]
    assert (after >= proven).all()
    assert (after > proven).any()


# Limits, and what is refused


def test_the_same_seed_gives_the_same_result() -> None:
    model = rc.problems.make("tiger")
    first, again, other = (arcs_paper(model, iterations=500, seed=seed) for seed in (1, 1, 2))
    assert (first.lower, first.upper, first.tree_nodes) == (again.lower, again.upper, again.tree_nodes)
    assert isinstance(first.policy, ControllerPolicy)
    assert isinstance(again.policy, ControllerPolicy)
    assert first.policy.actions.tolist() == again.policy.actions.tolist()
    assert first.tree_nodes != other.tree_nodes
    assert (first.seed, other.seed) == (1, 2)


def test_pauses_change_nothing() -> None:
    at_once, piecemeal = (PaperSearch(rc.problems.make("tiger"), 1e9, 7, True) for _ in range(2))
    at_once.advance(0.0, 300)
    for _ in range(30):
        piecemeal.advance(0.0, 10)
    assert at_once.n_nodes == piecemeal.n_nodes
    assert at_once.tree.value[: at_once.n_nodes].tolist() == piecemeal.tree.value[: at_once.n_nodes].tolist()


def test_no_iteration_gives_the_minimum_cost_policy() -> None:
    model = rc.problems.make("crs-4-4")
    result = arcs_paper(model, iterations=0)
    assert result.status == "iteration limit"
    assert result.admissible
    assert result.cost[0] == 0
    assert result.tree_nodes == 1
    check_result(reference.dense(model), result)


def test_time_limit_and_progress() -> None:
    seen: list[TracePoint] = []
    result = arcs_paper(rc.problems.make("crs-4-4"), time_limit=0.3, progress=seen.append)
    assert result.status == "time limit"
    assert seen == result.trace[1:-1]
    assert json.loads(json.dumps(result.summary()))["variant"] == "paper"


def test_interrupt() -> None:
    def stop(_: TracePoint) -> None:
        raise KeyboardInterrupt

    result = arcs_paper(rc.problems.make("crs-4-4"), progress=stop)
    assert result.status == "interrupted"
    assert result.admissible


def test_memory_limit() -> None:
    model = rc.problems.make("tiger")
    result = arcs_paper(model, memory_limit=5e6)
    assert result.status == "memory limit"
    check_result(reference.dense(model), result)


@pytest.mark.parametrize("n_costs", [0, 2])
def test_one_cost_only(n_costs: int) -> None:
    case = random_model(np.random.default_rng(0), n_costs=n_costs)
    with pytest.raises(rc.InputError, match=f"exactly one cost, but the model has {n_costs}"):
        arcs_paper(case.model)


@pytest.mark.parametrize(
    "option",
    [{"epsilon": -1}, {"epsilon": float("nan")}, {"time_limit": 0}, {"memory_limit": 0}, {"iterations": -1}],
)
def test_bad_options(option: dict[str, float]) -> None:
    with pytest.raises(rc.InputError):
        arcs_paper(rc.problems.make("ce"), **option)  # type: ignore[arg-type]  # that is the point


def test_a_policy_that_spends_all_tolerance_is_verified() -> None:
    """What is far out of reach makes the search spend to the last digit; rounding must not carry it beyond."""
    model = rc.CPOMDP(
        transition=[np.eye(2)] * 2,
        observation=[[[1.0], [1.0]]] * 2,
        reward=[[1.0, 0.0], [1e12, -1e12]],
        cost=[[1.0, 0.0], [1e12, 1e12]],
        initial_belief=[1.0, 0.0],
        discount=0.9,
        budget=1.0,
    )
    result = rc.solve(model, variant="paper", time_limit=AMPLE, progress=stop_after(400))
    assert result.admissible
    assert (result.sure_cost <= model.spending_limit).all()
    assert rc.verify(model, result.policy, {"sure_cost": result.sure_cost.tolist()}).problem is None


@pytest.mark.filterwarnings("error")
def test_a_horizon_without_a_discount_adds_up_steps() -> None:
    model = rc.CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[1.0, 0.0]],
        cost=[[1.0, 0.5]],
        initial_belief=[1.0],
        discount=1.0,
        budget=7.0,
        horizon=10,
    )
    result = rc.solve(model, variant="paper", time_limit=AMPLE, progress=stop_after(50))
    assert result.lower <= 4 <= result.upper + 1e-9
    assert result.horizon is None or result.horizon >= 0
