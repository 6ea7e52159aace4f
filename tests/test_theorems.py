"""What RC-POMDPs rest on, computed on small models: deterministic optima, Bellman's principle, one fixed point.

Staged models end after a few steps, so that all their policies are trees that can be listed, and values and spendings
are exact but for rounding. γ = ½ and costs in quarters make budgets left finitely many, for what has no end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.solvers.arcs.search import ArcsSwitches
from rcpomdp.solvers.arcs_published.solve import arcs_paper
from reference import branches, dense
from strategies import Dense, random_belief, random_model
from work import AMPLE

ROUNDING = 1e-12
History = tuple[tuple[int, int], ...]  # (action, observation) of each step


# Staged models and the trees that are their policies


def staged(seed: int, steps: int = 3, n_costs: int = 1, n_actions: int = 2, n_observations: int = 2) -> Dense:
    """Two hidden states that change and are heard for some steps; then nothing more is earned or spent."""
    rng = np.random.default_rng(seed)
    n, gamma = 2 * steps + 1, float(rng.choice([0.5, 0.9]))
    T, Z = np.zeros((n_actions, n, n)), np.zeros((n_actions, n, n_observations))
    R, C = np.zeros((n, n_actions)), np.zeros((n_costs, n, n_actions))
    T[:, -1, -1] = 1.0
    Z[:, -1, 0] = 1.0
    for t in range(steps):
        here = slice(2 * t, 2 * t + 2)
        for a in range(n_actions):
            T[a, here, 2 * t + 2 : 2 * t + 4] = rng.dirichlet([1, 1], 2) if t < steps - 1 else np.ones((2, 1))
            Z[a, here] = rng.dirichlet(np.ones(n_observations), 2)
        R[here] = rng.integers(-3, 6, (2, n_actions))
        C[:, here] = rng.choice([0.0, 1.0, 2.0], (n_costs, 2, n_actions))
    start = np.zeros(n)
    start[:2] = rng.dirichlet([2, 2])
    model = rc.CPOMDP(transition=T, observation=Z, reward=R, cost=C, initial_belief=start, discount=gamma)
    return dense(model)


class Tree(NamedTuple):
    """A deterministic policy of finitely many steps: an action, and a tree for each observation that can follow."""

    action: int
    after: dict[int, Tree]


def trees(case: Dense, b: np.ndarray, steps: int) -> Iterator[Tree | None]:
    """All of them from a belief; None is the one without steps."""
    if steps == 0:
        yield None
        return
    for a in range(len(case.T)):
        following = [(o, list(trees(case, after, steps - 1))) for o, _, after in branches(case, b, a)]
        for choice in itertools.product(*(options for _, options in following)):
            yield Tree(a, {o: tree for (o, _), tree in zip(following, choice, strict=True) if tree is not None})


Chances = Callable[[History], np.ndarray]  # of each action after a history


def behaviour(tree: Tree, n_actions: int) -> Chances:
    """A tree as a policy over histories."""

    def chances(history: History) -> np.ndarray:
        node = tree
        for _, o in history:
            node = node.after[o]
        return np.eye(n_actions)[node.action]

    return chances


class Reached(NamedTuple):
    """A history that a policy reaches: what was spent before, and what is then expected, in its own units."""

    history: History
    spent: np.ndarray  # [K]
    reward: float
    cost: np.ndarray  # [K]


def unroll(case: Dense, policy: Chances, steps: int) -> list[Reached]:
    """All histories of up to `steps` steps with a positive probability; the empty one comes last."""
    gamma, found = case.model.discount, []

    def visit(history: History, b: np.ndarray, spent: np.ndarray) -> tuple[float, np.ndarray]:
        t, reward, cost = len(history), 0.0, np.zeros(len(case.C))
        if t < steps:
            for a, chance in enumerate(policy(history)):
                if chance > 0:
                    here = case.C[:, :, a] @ b
                    value, paid = float(b @ case.R[:, a]), here.copy()
                    for o, p, after in branches(case, b, a):
                        v, c = visit((*history, (a, o)), after, spent + gamma**t * here)
                        value, paid = value + gamma * p * v, paid + gamma * p * c
                    reward, cost = reward + chance * value, cost + chance * paid
        found.append(Reached(history, spent, reward, cost))
        return reward, cost

    visit((), case.model.initial_belief, np.zeros(len(case.C)))
    return found


def is_admissible(case: Dense, found: list[Reached], budget: np.ndarray, k: float = np.inf) -> bool:
    """Eq. (11): ``W(h_t) + γ^t V_C(b_t) ≤ ĉ`` at every history of fewer than k steps."""
    gamma = case.model.discount
    return all(
        (r.spent + gamma ** len(r.history) * r.cost <= budget + ROUNDING).all() for r in found if len(r.history) < k
    )


def never_overspends(found: list[Reached], budget: np.ndarray) -> bool:
    """``d(h) ≥ 0`` at every history."""
    return all((r.spent <= budget + ROUNDING).all() for r in found)


def some_budgets(case: Dense, walked: list[list[Reached]], rng: np.random.Generator, count: int) -> np.ndarray:
    """Budgets [count, K] that trees spend or expect, so that ties are among them, and some in between."""
    spendings = np.array([np.max([r.spent for r in found], axis=0) for found in walked])
    expected = np.array([found[-1].cost for found in walked])
    every = np.concatenate([spendings, expected, (spendings + expected) / 2])
    return np.stack([rng.choice(column, count) for column in every.T], axis=1)


def drawn_behaviour(case: Dense, steps: int, rng: np.random.Generator) -> Chances:
    """A policy over histories that draws among some of the actions here and there."""
    known: dict[History, np.ndarray] = {}

    def chances(history: History) -> np.ndarray:
        if history not in known:
            mixed = rng.random() < 0.4
            weights = rng.uniform(0.1, 1, len(case.T)) if mixed else np.eye(len(case.T))[rng.integers(len(case.T))]
            known[history] = weights / weights.sum()
        return known[history]

    unroll(case, chances, steps)  # so that every history that is reached is drawn
    return chances


# Budgets that never go below zero (k = ∞ admissibility is nothing else)


@pytest.mark.parametrize("n_costs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_admissible_is_never_to_overspend(seed: int, n_costs: int) -> None:
    """Of every deterministic policy and of randomised ones; the constraint at the start alone says less."""
    case, rng = staged(seed, n_costs=n_costs), np.random.default_rng(seed)
    policies = [behaviour(tree, 2) for tree in trees(case, case.model.initial_belief, 3) if tree is not None]
    assert len(policies) == 128
    policies += [drawn_behaviour(case, 3, rng) for _ in range(30)]
    walked = [unroll(case, policy, 3) for policy in policies]
    admissible = total = only_at_first = 0
    for budget in some_budgets(case, walked, rng, 12):
        for found in walked:
            proper = is_admissible(case, found, budget)
            assert proper == never_overspends(found, budget)
            for k in range(1, 4):  # k-admissibility asks for less, the smaller k is
                assert is_admissible(case, found, budget, k) >= is_admissible(case, found, budget, k + 1) >= proper
            admissible, total = admissible + proper, total + 1
            only_at_first += is_admissible(case, found, budget, 1) > proper
    assert 0.05 < admissible / total < 0.95
    assert only_at_first > 0


# Theorem 1: deterministic policies suffice


@pytest.mark.parametrize("n_costs", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_randomised_policies_are_no_better_than_their_parts(seed: int, n_costs: int) -> None:
    """A randomised policy is admissible iff every tree that it may turn out to be is, and one of them is as good."""
    case, rng = staged(seed, n_costs=n_costs), np.random.default_rng(100 + seed)
    listed = [tree for tree in trees(case, case.model.initial_belief, 3) if tree is not None]
    walked = [unroll(case, behaviour(tree, 2), 3) for tree in listed]
    randomised = [drawn_behaviour(case, 3, rng) for _ in range(60)]
    parts = [
        [all(policy(r.history)[chosen(tree, r.history)] > 0 for r in found if len(r.history) < 3)
         for tree, found in zip(listed, walked, strict=True)]
        for policy in randomised
    ]  # fmt: skip
    mixed_and_admissible = 0
    for budget in some_budgets(case, walked, rng, 8):
        keeps = [is_admissible(case, found, budget) for found in walked]
        best = max((found[-1].reward for found, keep in zip(walked, keeps, strict=True) if keep), default=-np.inf)
        for policy, part in zip(randomised, parts, strict=True):
            found = unroll(case, policy, 3)
            proper = is_admissible(case, found, budget)
            assert any(part)
            assert proper == all(keep for keep, inside in zip(keeps, part, strict=True) if inside)
            if proper:
                assert found[-1].reward <= best + ROUNDING
                assert found[-1].reward <= max(
                    w[-1].reward for w, inside in zip(walked, part, strict=True) if inside
                ) + (ROUNDING)
                mixed_and_admissible += sum(part) > 1
    assert mixed_and_admissible > 0


def chosen(tree: Tree, history: History) -> int:
    """The action of a tree after a history."""
    for _, o in history:
        tree = tree.after[o]
    return tree.action


@pytest.mark.parametrize("n_costs", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_admissible_tree_is_what_arcs_finds(seed: int, n_costs: int) -> None:
    case, rng = staged(seed, n_costs=n_costs), np.random.default_rng(seed)
    listed = (tree for tree in trees(case, case.model.initial_belief, 3) if tree is not None)
    walked = [unroll(case, behaviour(tree, 2), 3) for tree in listed]
    for budget in some_budgets(case, walked, rng, 5):
        best = max((found[-1].reward for found in walked if never_overspends(found, budget)), default=-np.inf)
        result = rc.solve(case.model.with_budget(budget), "arcs", epsilon=1e-6, time_limit=AMPLE)
        if best == -np.inf:
            assert (result.status, result.admissible) == ("infeasible", False)
        else:
            assert (result.status, result.admissible) == ("optimal", True)
            assert result.lower - 1e-9 <= best <= result.upper + 1e-9
            assert result.reward == pytest.approx(best, abs=2e-6)


def test_expected_costs_alone_are_worth_more_to_a_mixture() -> None:
    """What the hard budget forbids: in the counterexample a mixture keeps its cost in expectation and earns 12."""
    model = rc.problems.make("ce")
    risky, safe = (rc.evaluate(model, rc.policies.blind(model, tunnel)) for tunnel in ("tunnel-A", "tunnel-B"))
    assert risky.cost[0] <= model.spending_limit[0]
    assert risky.reward == pytest.approx(12, abs=1e-4)
    assert not rc.verify(model, rc.policies.blind(model, "tunnel-A")).verified
    assert rc.solve(model, "arcs").reward == pytest.approx(safe.reward, abs=1e-3)


# Theorem 2: Bellman's principle


class Augmented(NamedTuple):
    """A belief with the budget that is left, and what follows each action: (probability, node)."""

    belief: np.ndarray
    left: np.ndarray  # [K]
    after: list[list[tuple[float, Augmented]]]


def augmented(case: Dense, b: np.ndarray, left: np.ndarray, steps: int) -> Augmented:
    """All that follows from (b, d), also what is overspent."""
    after: list[list[tuple[float, Augmented]]] = []
    for a in range(len(case.T) if steps else 0):
        rest = (left - case.C[:, :, a] @ b) / case.model.discount
        after.append([(p, augmented(case, to, rest, steps - 1)) for _, p, to in branches(case, b, a)])
    return Augmented(b, left, after)


Values = dict[int, tuple[float, np.ndarray]]  # by the identity of a node: V_R and V_C


def q_values(case: Dense, node: Augmented, values: Values) -> list[tuple[float, np.ndarray]]:
    """Q_R and Q_C of each action."""
    gamma, found = case.model.discount, []
    for a, following in enumerate(node.after):
        reward, cost = float(node.belief @ case.R[:, a]), case.C[:, :, a] @ node.belief
        for p, to in following:
            reward, cost = reward + gamma * p * values[id(to)][0], cost + gamma * p * values[id(to)][1]
        found.append((reward, cost))
    return found


def backup(case: Dense, node: Augmented, values: Values) -> tuple[float, np.ndarray, int | None]:
    """Eq. (14): the best of the actions whose expected cost is within the budget left; the action too."""
    fits = [
        (q_r, q_c, a) for a, (q_r, q_c) in enumerate(q_values(case, node, values)) if (q_c <= node.left + 1e-9).all()
    ]
    if not fits:
        return values[id(node)][0], np.full(len(case.C), np.inf), None
    return max(fits, key=lambda fit: fit[0])


def every_node(node: Augmented) -> Iterator[Augmented]:
    """Successors before their predecessors."""
    for following in node.after:
        for _, to in following:
            yield from every_node(to)
    yield node


def optimal_values(case: Dense, root: Augmented) -> Values:
    """Values of an optimal policy by the hard rule ``d ≥ 0``; infinite costs where no policy keeps it."""
    values: Values = {}
    for node in every_node(root):
        candidates = [] if node.after else [(0.0, np.zeros(len(case.C)))]
        if node.after:
            q = q_values(case, node, values)
            candidates = [pair for pair in q if np.isfinite(pair[1]).all()]
        if (node.left < -1e-9).any() or not candidates:
            values[id(node)] = (0.0, np.full(len(case.C), np.inf))
        else:
            values[id(node)] = max(candidates, key=lambda pair: pair[0])
    return values


@pytest.mark.parametrize("n_costs", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_a_backup_keeps_the_optimum_and_admissibility(seed: int, n_costs: int) -> None:
    case, rng = staged(20 + seed, n_costs=n_costs, n_observations=3), np.random.default_rng(seed)
    start = case.model.initial_belief
    listed = itertools.islice((tree for tree in trees(case, start, 3) if tree is not None), 0, None, 37)
    walked = [unroll(case, behaviour(tree, 2), 3) for tree in listed]
    feasible = 0
    for budget in some_budgets(case, walked, rng, 6):
        root = augmented(case, start, budget, 3)
        values = optimal_values(case, root)
        if np.isinf(values[id(root)][1]).any():
            continue
        feasible += 1
        chosen_at: dict[int, int | None] = {}
        for node in every_node(root):
            if not node.after:
                continue
            reward, cost, chosen_at[id(node)] = backup(case, node, values)
            assert reward == pytest.approx(values[id(node)][0], abs=1e-9)  # everywhere
            # The backup finds an action exactly where there is an admissible policy.
            assert np.isfinite(cost).all() == np.isfinite(values[id(node)][1]).all()
        front, total, weight = [(1.0, root)], 0.0, 1.0
        for _ in range(3):  # follow what the backup chose: it keeps the budget and earns the optimum
            following = []
            for p, node in front:
                action = chosen_at[id(node)]
                assert action is not None
                assert (values[id(node)][1] <= node.left + 1e-9).all()
                total += weight * p * float(node.belief @ case.R[:, action])
                following += [(p * q, to) for q, to in node.after[action]]
            front, weight = following, weight * case.model.discount
            assert all((node.left >= -1e-9).all() for _, node in front)
        assert total == pytest.approx(values[id(root)][0], abs=1e-9)
        result = rc.solve(case.model.with_budget(np.maximum(budget, 0)), "arcs", epsilon=1e-6, time_limit=AMPLE)
        assert result.lower - 1e-8 <= total <= result.upper + 1e-8
    assert feasible >= 2


# Theorem 3: one fixed point


QUARTER = 0.25
TOP = 8.0  # twice the largest cost, over 1 − γ: as good as unlimited


def dig_or_look(rest_cost: float) -> Dense:
    """Gold lies under the site or not. Looking shows it; digging moves on to a new site; resting changes nothing.

    Its beliefs are that the site is new, good or bad, and γ = ½ with costs in quarters leaves budgets in quarters.
    """
    stay, fresh = np.eye(2), np.full((2, 2), 0.5)
    quiet, shown = np.array([[1.0, 0, 0], [1, 0, 0]]), np.array([[0, 1.0, 0], [0, 0, 1]])
    model = rc.CPOMDP(
        transition=[stay, stay, fresh],
        observation=[quiet, shown, quiet],
        reward=[[0, -0.5, 6], [0, -0.5, -2]],
        cost=[[rest_cost, 0.5, 2.0], [rest_cost, 0.5, 1.0]],
        initial_belief=[0.5, 0.5],
        discount=0.5,
    )
    return dense(model)


def seen_states(seed: int) -> Dense:
    """Three states that are seen, so that beliefs are corners; moves by chance, costs in quarters."""
    rng = np.random.default_rng(seed)
    model = rc.CPOMDP(
        transition=rng.dirichlet([0.5] * 3, (3, 3)),
        observation=[np.eye(3)] * 3,
        reward=rng.integers(-3, 7, (3, 3)),
        cost=rng.choice([0.0, 0.25, 0.5, 1.0, 2.0], (3, 3)),
        initial_belief=[1.0, 0, 0],
        discount=0.5,
    )
    return dense(model)


class Grid(NamedTuple):
    """The belief MDP over (belief, budget left): 3 beliefs, budgets in quarters up to TOP and −1 for overspent."""

    reward: np.ndarray  # [3, A]
    cost: np.ndarray  # [3, A]
    chance: np.ndarray  # [3, A, 3]
    left: np.ndarray  # [D]
    after: np.ndarray  # [3, D, A] index of the budget after, or −1


def grid_of(case: Dense) -> Grid:
    """Of `dig_or_look` or `seen_states`; the first belief is the initial one."""
    points = np.eye(3) if case.model.n_states == 3 else np.array([[0.5, 0.5], [1, 0], [0, 1]])
    chance = np.zeros((3, 3, 3))
    for i, b in enumerate(points):
        for a in range(3):
            for _, p, to in branches(case, b, a):
                chance[i, a, int(np.abs(points - to).sum(axis=1).argmin())] += p
    left = np.arange(0, TOP + QUARTER / 2, QUARTER / 4)  # in sixteenths
    cost = points @ case.C[0]
    rest = (left[None, :, None] - cost[:, None, :]) / 0.5
    after = np.where(rest >= 0, np.minimum(rest, TOP) / (QUARTER / 4), -1)
    assert (after == after.round()).all()
    return Grid(points @ case.R, cost, chance, left, after.astype(int))


def admissible_pairs(g: Grid) -> np.ndarray:
    """Where some policy keeps the budget for ever, [3, D]: the largest set that some action never leaves."""
    inside = np.ones((3, len(g.left)), dtype=bool)
    while True:
        smaller = inside & stays(g, inside).any(axis=2)
        if (smaller == inside).all():
            return inside
        inside = smaller


def stays(g: Grid, inside: np.ndarray) -> np.ndarray:
    """Whether all that follows an action is inside, [3, D, A]."""
    follows = inside[:, g.after]  # [3', 3, D, A]
    leaves = np.einsum("iaj,jida->ida", g.chance, ~follows)
    found: np.ndarray = (leaves == 0) & (g.after >= 0)
    return found


def bellman(g: Grid, v_r: np.ndarray, v_c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The operator of Eq. (14) at all pairs [3, D]."""
    ahead_r = np.einsum("iaj,jida->ida", g.chance, v_r[:, g.after])
    costs = np.where(np.isinf(v_c), 1e300, v_c)[:, g.after]
    ahead_c = np.einsum("iaj,jida->ida", g.chance, costs)
    q_r = g.reward[:, None] + 0.5 * ahead_r
    q_c = np.where((g.after < 0) | (ahead_c > 1e200), np.inf, g.cost[:, None] + 0.5 * ahead_c)
    fits = q_c <= g.left[None, :, None] + ROUNDING
    best = np.where(fits, q_r, -np.inf).argmax(axis=2)[..., None]
    some = fits.any(axis=2)
    new_r = np.where(some, np.take_along_axis(q_r, best, 2)[..., 0], v_r)
    return new_r, np.where(some, np.take_along_axis(q_c, best, 2)[..., 0], np.inf)


def values_of(g: Grid, action: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a policy over pairs earns and costs where it stays inside; infinite costs elsewhere."""
    v_r, v_c = np.zeros(inside.shape), np.zeros(inside.shape)
    i, d = np.indices(inside.shape)
    after = g.after[i, d, action]
    for _ in range(60):
        ahead_r, ahead_c = (np.einsum("idj,jid->id", g.chance[i, action], v[:, after]) for v in (v_r, v_c))
        v_r = np.where(inside, g.reward[i, action] + 0.5 * ahead_r, 0.0)
        v_c = np.where(inside, g.cost[i, action] + 0.5 * ahead_c, 0.0)
    return v_r, np.where(inside, v_c, np.inf)


def least_budgets(g: Grid) -> np.ndarray:
    """``M(b) = min_a [C(b, a) + γ max_o M(b_o)]`` of each belief, from below."""
    least = np.zeros(3)
    for _ in range(60):
        worst = np.where(g.chance > 0, least, -np.inf).max(axis=2)
        least = (g.cost + 0.5 * worst).min(axis=1)
    return least


OPERATOR_CASES = [
    *((dig_or_look, rest_cost) for rest_cost in (0.0, 0.25, 0.5)),
    *((seen_states, seed) for seed in (1, 2, 3, 6)),
]


@pytest.mark.parametrize(("build", "which"), OPERATOR_CASES)
def test_what_an_action_must_cost_tells_what_is_admissible(build: Callable[[Any], Dense], which: float) -> None:
    """Whatever well-behaved costs backups start from, the actions that fit are those that admissible policies take."""
    g = grid_of(build(which))
    inside = admissible_pairs(g)
    np.testing.assert_array_equal(inside, g.left >= least_budgets(g)[:, None] - 1e-9)
    rng = np.random.default_rng(1)
    for _ in range(5):
        v_c = np.where(inside, rng.random(inside.shape) * g.left, np.inf)
        ahead = np.einsum("iaj,jida->ida", g.chance, np.where(np.isinf(v_c), 1e300, v_c)[:, g.after])
        q_c = np.where((g.after < 0) | (ahead > 1e200), np.inf, g.cost[:, None] + 0.5 * ahead)
        np.testing.assert_array_equal(q_c <= g.left[None, :, None] + ROUNDING, stays(g, inside))


@pytest.mark.parametrize(("build", "which"), OPERATOR_CASES)
def test_backups_contract_to_one_fixed_point(build: Callable[[Any], Dense], which: float) -> None:
    case = build(which)
    g = grid_of(case)
    inside = admissible_pairs(g)
    allowed = stays(g, inside)
    first = allowed.argmax(axis=2)
    last = 2 - allowed[:, :, ::-1].argmax(axis=2)
    rng = np.random.default_rng(0)
    drawn = np.where(allowed, rng.random(allowed.shape), -1).argmax(axis=2)
    starts = [values_of(g, action, inside) for action in (first, last, drawn)]
    for _, v_c in starts:  # well behaved
        assert (v_c <= np.where(inside, g.left, np.inf) + ROUNDING).all()
        assert np.isinf(v_c[~inside]).all()
    starts += [(rng.uniform(-50, 50, inside.shape), v_c) for _, v_c in starts[:2]]
    current = starts
    for n in range(40):
        following = [bellman(g, *v) for v in current]
        for (new_r, new_c), (old_r, _) in zip(following, current, strict=True):
            assert (new_c[inside] <= np.broadcast_to(g.left, inside.shape)[inside] + ROUNDING).all()
            assert np.isinf(new_c[~inside]).all()
            np.testing.assert_array_equal(new_r[~inside], old_r[~inside])  # untouched where nothing is admissible
        for one, two in itertools.combinations(range(len(starts)), 2):
            before = np.abs(current[one][0] - current[two][0])[inside].max()
            now = np.abs(following[one][0] - following[two][0])[inside].max()
            assert now <= 0.5 * before + ROUNDING
        if n < 3:  # a policy's own values never get worse
            for (new_r, _), (old_r, _) in zip(following[:3], current[:3], strict=True):
                assert (new_r - old_r)[inside].min() >= -1e-9
        current = following
    fixed = current[0][0]
    for v_r, _ in current[1:]:
        np.testing.assert_allclose(v_r[inside], fixed[inside], rtol=0, atol=1e-9)
    assert np.ptp(fixed[0][inside[0]]) > 1  # the budget matters
    # The fixed point is the optimum.
    for d in range(0, len(g.left), 9):
        result = rc.solve(case.model.with_budget(g.left[d]), "arcs", epsilon=1e-4, time_limit=AMPLE)
        assert (result.status, result.admissible) == (("optimal", True) if inside[0, d] else ("infeasible", False))
        if inside[0, d]:
            assert result.lower - 1e-8 <= fixed[0, d] <= result.upper + 1e-8


def test_backups_from_a_start_that_is_not_well_behaved_overspend() -> None:
    """If V_C is finite where nothing is admissible, backups promise what cannot be kept."""
    g = grid_of(dig_or_look(0.5))
    inside = admissible_pairs(g)
    v = np.zeros(inside.shape), np.zeros(inside.shape)
    _, v_c = bellman(g, *v)
    assert np.isfinite(v_c[~inside]).any()


# Theorem 4: the published search is sound


def test_the_published_search_stops_with_what_is_optimal_and_admissible() -> None:
    """On what is enumerated or solved as a fixed point, with budgets that bind and that do not."""
    epsilon, stopped, infeasible = 0.01, 0, 0
    cases: list[tuple[rc.CPOMDP, float]] = []
    for seed in range(8):
        case, rng = staged(seed), np.random.default_rng(seed)
        listed = (tree for tree in trees(case, case.model.initial_belief, 3) if tree is not None)
        walked = [unroll(case, behaviour(tree, 2), 3) for tree in listed]
        for budget in some_budgets(case, walked, rng, 3):
            best = max((found[-1].reward for found in walked if never_overspends(found, budget)), default=-np.inf)
            cases.append((case.model.with_budget(budget), best))
    for build, which in OPERATOR_CASES:
        case = build(which)
        g = grid_of(case)
        inside = admissible_pairs(g)
        value, v_c = np.zeros(inside.shape), np.where(inside, 0.0, np.inf)
        for _ in range(60):
            value, v_c = bellman(g, value, v_c)
        cases += [
            (case.model.with_budget(g.left[d]), value[0, d] if inside[0, d] else -np.inf) for d in (4, 20, 40, 100)
        ]
    for model, best in cases:
        result = arcs_paper(model, epsilon=epsilon, iterations=3000)
        assert result.lower <= best + 1e-9
        if result.status == "infeasible":
            assert best == -np.inf
            infeasible += 1
        elif result.status == "optimal":
            assert rc.verify(model, result.policy).verified
            assert best - epsilon - 1e-9 <= result.reward <= best + 1e-9
            assert result.upper >= best - 1e-9
            stopped += 1
        else:
            assert result.upper >= best - 1e-9
    assert stopped >= 20
    assert infeasible >= 2


# Bounds that the search relies on


def one_chance(belief: list[float]) -> rc.CPOMDP:
    """One action pays 10 and costs 1 in the first state and does nothing in the second; then all is over."""
    end = np.array([[0, 0, 1.0]] * 3)
    return rc.CPOMDP(
        transition=[end, end],
        observation=[np.ones((3, 1))] * 2,
        reward=[[10, 0], [0, 0], [0, 0]],
        cost=[[1, 0], [0, 0], [0, 0]],
        initial_belief=[*belief, 0],
        discount=0.9,
        budget=0.5,
    )


def test_the_optimum_is_not_convex_in_the_belief() -> None:
    middle, *corners = (rc.solve(one_chance(b), "arcs") for b in ([0.5, 0.5], [1.0, 0.0], [0.0, 1.0]))
    assert middle.lower == pytest.approx(5, abs=1e-9)
    assert middle.upper == pytest.approx(5, abs=1e-3)
    for corner in corners:
        assert corner.lower == pytest.approx(0, abs=1e-9)
        assert corner.upper == pytest.approx(0, abs=1e-3)
    assert middle.lower > (corners[0].upper + corners[1].upper) / 2 + 4


def best_within(
    case: Dense, gain: np.ndarray, b: np.ndarray, left: np.ndarray, steps: int, floor: np.ndarray | None
) -> float:
    """The best ``Σ γ^t g`` of some steps that never overspend; a step spends ``floor [K, A]``, or its cost if None."""
    if (left < -1e-9).any():
        return -np.inf
    if steps == 0:
        return 0.0
    best, gamma = -np.inf, case.model.discount
    for a in range(len(case.T)):
        spent = case.C[:, :, a] @ b if floor is None else floor[:, a]
        rest = (left - spent) / gamma
        if (rest < -1e-9).any():
            continue
        value = float(b @ gain[:, a])
        for _, p, after in branches(case, b, a):
            value += gamma * p * best_within(case, gain, after, rest, steps - 1, floor)
        best = max(best, value)
    return best


@pytest.mark.parametrize("seed", range(10))
def test_the_relaxation_is_convex_and_bounds_the_optimum(seed: int) -> None:
    """Spending the least of the class, V̄(·, d) is convex; with a price, ``V* ≤ V̄_λ + λ·d``; dearer is no better."""
    rng = np.random.default_rng(seed)
    n_costs = 1 + seed % 2
    case = random_model(rng, 3, 2, 2, n_costs, density=1.0, deterministic=0.0, discount=0.8)
    floor = case.C.min(axis=1)
    steps = 4
    for _ in range(4):
        left = rng.uniform(0, 4, n_costs)
        price = rng.uniform(0, 3, n_costs)
        priced = case.R - np.tensordot(price, case.C, axes=1)
        one, two = random_belief(rng, 3), random_belief(rng, 3)
        share = rng.uniform()
        between = share * one + (1 - share) * two
        for gain in (case.R, priced):
            ends = [best_within(case, gain, b, left, steps, floor) for b in (one, two)]
            middle = best_within(case, gain, between, left, steps, floor)
            if np.isfinite(middle):
                assert middle <= share * ends[0] + (1 - share) * ends[1] + 1e-9
            else:  # what can be afforded depends on the history alone
                assert ends == [-np.inf, -np.inf]
        for b in (one, two, between):
            optimum = best_within(case, case.R, b, left, steps, None)
            assert optimum <= best_within(case, case.R, b, left, steps, floor) + 1e-9
            assert optimum <= best_within(case, priced, b, left, steps, floor) + price @ left + 1e-9
            assert optimum <= best_within(case, case.R, b, left * 1.3, steps, None) + 1e-9  # monotone in d


@pytest.mark.parametrize("seed", range(6))
def test_pruning_by_what_is_needed_changes_no_optimum(seed: int) -> None:
    """M prunes only what no admissible policy does: the optimum stays, and so does whether there is one."""
    case = staged(40 + seed, n_costs=1 + seed % 2, steps=3)
    rng = np.random.default_rng(seed)
    listed = (tree for tree in trees(case, case.model.initial_belief, 3) if tree is not None)
    walked = [unroll(case, behaviour(tree, 2), 3) for tree in listed]
    for budget in some_budgets(case, walked, rng, 4):
        model = case.model.with_budget(budget)
        found = [
            rc.solve(model, "arcs", epsilon=1e-4, time_limit=AMPLE, switches=ArcsSwitches(needs=needs))
            for needs in (True, False)
        ]
        assert found[0].status == found[1].status in {"optimal", "infeasible"}
        assert found[0].lower == pytest.approx(found[1].lower, abs=2e-4)
        assert max(r.lower for r in found) <= min(r.upper for r in found)
