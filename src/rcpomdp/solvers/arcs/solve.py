"""ARCS: the best policy that keeps its budget in every history, with bounds on the optimum.

An RC-POMDP is a belief MDP over (b, d): the belief and the budget that is left, ``d' = (d − C(b, a)) / γ``, with the
hard rule ``d ≥ 0``. A policy is admissible iff what it has spent by its beliefs never exceeds the budget, which is the
same as a *sure cost* of at most ĉ; nothing about expected costs has to be carried along to know that. The search
(`solvers.arcs.search`) bounds the optimum from above by vectors over budget levels and a convex relaxation, and from
below by belief plans whose sure cost is known. It stops when the two are within epsilon, when it is proven that no
policy keeps the budget, or when time or memory are up; its bounds hold whenever it stops.

`variant="paper"` is the algorithm as it was published (`solvers.arcs_published.solve`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...deadline import TimeUpError
from ...errors import InputError, did_you_mean
from ...model import CPOMDP
from ...policies import ControllerPolicy, blind
from ...verification.proof import EVERY_HISTORY
from .. import sarsop as unconstrained
from ..arcs_published.solve import arcs_paper
from ..belief_graph.search import BeliefGraphSearch, Objective
from ..checks import check_common, check_k, check_totals, is_number
from ..clock import Clock
from ..early import Aim, answers_early, finishing
from ..finite_k.solve import finite_k
from ..folding import folded, unfolded
from ..pointbased import solve as point_based
from ..pointbased.noise import is_noisy, may_be_noisy
from ..policy_value import with_expected_costs
from ..proofs.write import check_provable, with_proof
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result, TracePoint
from ..warmup import smallest_model
from .base_cost import with_base_cost, without_base_cost
from .certain_ends import with_certain_ends, without_certain_ends
from .few_beliefs import few_beliefs, may_have_few_beliefs, solve_few
from .few_beliefs import load_kernels as load_few_belief_kernels
from .joint_need import jointly_infeasible
from .online import OnlinePolicy
from .outcome import outcome
from .search import NEARLY_UNCONSTRAINED, ArcsSwitches, BudgetSearch
from .step_limits import with_some_budget, without_that_budget
from .storage import most_spent
from .supports import over_supports

VARIANTS = ("levels", "paper")
_PROBE = 1_000_000  # elementary steps of a search without a budget that comes first
_NEXT_LAYOUT = 4  # times as long as the last time it may take to lay out finer levels
_FIRST_MULTIPLIER, _NEXT_MULTIPLIER = (
    8,
    3,
)  # trials before the first look at multipliers, and how many times as many until the next


def _aim(model: CPOMDP, *, k: float | None = None, **_: Any) -> Aim:
    return Aim(in_every_history=k is None or np.isinf(k))


@answers_early("arcs", _aim)
def arcs(  # noqa: PLR0912 - one branch for each thing that may be asked for
    model: CPOMDP,
    *,
    variant: str = "levels",
    k: float | None = None,
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    switches: ArcsSwitches | Mapping[str, Any] | None = None,
    act_time: float | None = None,
    pruning: bool = True,
    heuristic_share: float = 0.5,
    ties: str = "best",
    proof: bool = False,
) -> Result:
    """Solve the RC-POMDP: the budget holds in every history of the policy.

    Parameters
    ----------
    variant : "levels", ours, or "paper", the algorithm as published
    k : the budget must hold at histories shorter than this, with what is expected after them: 1 is the C-POMDP that
        "cgcp" solves, None and inf are every history
    epsilon : gap to stop at
    time_limit : seconds of set-up and search; None is unlimited
    memory_limit : bytes that beliefs, bounds and plans may take
    seed : of the random choices of "paper", and of simulated runs where "levels" ends with some
    progress : called with the bounds now and then
    switches : ideas of "levels" that can be switched off, also as plain values by name
    act_time : seconds of search before each step while the policy runs; the policy then improves as it goes, and is
        bound to this process. Where no budget binds it is the plain one
    pruning, heuristic_share, ties : of "paper" alone, as `solvers.arcs_published.solve.arcs_paper` has them
    proof : also write what the upper bound rests on, for `rc.check_proof`; ``upper`` is then what that proves

    An interrupt (Ctrl-C) returns the bounds and the policy found by then. While no policy is known to keep the budget,
    the lower bound is −inf, and the policy returned is the one that may spend the least.

    >>> import rcpomdp as rc
    >>> result = rc.solve(rc.problems.make("ce"), "arcs")
    >>> result.status, result.admissible, round(result.lower, 3), round(result.upper, 3)
    ('optimal', True, 10.0, 10.0)
    """
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    if act_time is not None and (not is_number(act_time) or not act_time >= 0):
        raise InputError(f"the time before a step must be at least 0, not {act_time!r}")
    if variant not in VARIANTS:
        raise InputError(f"unknown variant {variant!r}{did_you_mean(variant, VARIANTS)} (known: {', '.join(VARIANTS)})")
    if variant != "paper" and (pruning is not True or heuristic_share != 0.5 or ties != "best"):
        raise InputError("pruning, heuristic_share and ties are those of the variant 'paper'")
    check_k(k)
    if k is not None and np.isfinite(k):
        if variant != "levels" or switches is not None or act_time is not None or proof:
            raise InputError(
                "a finite k goes without variant, switches, act_time and proof, which are for every history"
            )
        told = _as_published(model, "a finite k")
        return unfolded(_finite(told, int(k), epsilon, time_limit, memory_limit, seed, progress), model)
    if variant == "paper":
        if switches is not None or proof:
            raise InputError("switches and proof are those of the variant 'levels'; 'paper' has none")
        told = _as_published(model, "the variant 'paper'")
        found = arcs_paper(
            told,
            epsilon=epsilon,
            time_limit=time_limit,
            memory_limit=memory_limit,
            seed=seed,
            progress=progress,
            pruning=pruning,
            heuristic_share=heuristic_share,
            ties=ties,
            act_time=act_time,
        )
        return unfolded(found, model)
    if isinstance(switches, Mapping):
        switches = ArcsSwitches.of(switches)
    check_totals(model)
    if proof:
        check_provable(model)
    if model.discount == 0:
        return _one_step(model, seed)
    clock = Clock(time_limit).watch()
    hopeless = jointly_infeasible(model)
    if act_time is not None:  # its policy knows the costs of each step
        if model.has_step_limits and not np.isfinite(model.budget).any():
            raise InputError("a search while acting needs a budget beside step limits")
        found = _by_all_means(model, switches, epsilon, clock, memory_limit, seed, progress, act_time, hopeless)
        found = found if isinstance(found.policy, OnlinePolicy) else with_expected_costs(found, model, clock, seed)
        return with_proof(model, found, EVERY_HISTORY, epsilon) if proof else replace(found, evidence=None)
    told = with_some_budget(model)
    rest, base = without_base_cost(told)
    clear, ends = with_certain_ends(rest)
    found = _by_all_means(clear, switches, epsilon, clock, memory_limit, seed, progress, act_time, hopeless)
    with finishing(clock):
        found = with_base_cost(without_certain_ends(found, rest, ends), told, base)
        found = with_expected_costs(without_that_budget(found, model), model, clock, seed)
        found = replace(found, seconds=max(found.seconds, clock.elapsed - found.setup_seconds))
    if not proof:
        return replace(found, evidence=None)
    if not hopeless and found.evidence is not None and found.evidence.model is not model:
        # What was searched was the model in another guise; the proof is to be of the model itself.
        again = _by_all_means(
            model, switches or ArcsSwitches(), epsilon, Clock(time_limit), memory_limit, seed, None, None, False, True
        )
        found = replace(found, evidence=again.evidence)
    return with_proof(model, found, EVERY_HISTORY, epsilon)


def _as_published(model: CPOMDP, what: str) -> CPOMDP:
    """The model with costs as those of the paper are: discounted as the reward is, and limited in total alone."""
    for i in np.flatnonzero(np.isfinite(model.step_limit)).tolist():
        raise InputError(
            f"{what} goes without limits for single steps, and cost {model.costs[i]!r} has the step limit "
            f"{model.step_limit[i]:.12g}"
        )
    return folded(model, what)


def _finite(
    model: CPOMDP,
    k: int,
    epsilon: float,
    time_limit: float | None,
    memory_limit: float,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
) -> Result:
    """Solve for a finite k; where k makes no difference, as for every history."""
    free = not np.isfinite(model.budget).any() or not model.cost.any() or model.terminal[model.initial_belief > 0].all()
    if k > 1 and (free or model.discount == 0):
        found = arcs(
            model, epsilon=epsilon, time_limit=time_limit, memory_limit=memory_limit, seed=seed, progress=progress
        )
        return replace(found, k=k)
    return finite_k(
        model, k, epsilon=epsilon, time_limit=time_limit, memory_limit=memory_limit, seed=seed, progress=progress
    )


def _by_all_means(
    model: CPOMDP,
    switches: ArcsSwitches | None,
    epsilon: float,
    clock: Clock,
    memory_limit: float,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
    act_time: float | None,
    hopeless: bool,
    plain: bool = False,
) -> Result:
    """Solve by what suits the model, then by search if that leaves something to be done."""
    found = None
    if (switches is None or plain) and act_time is None and not hopeless:
        found, is_final = _by_kind(model, epsilon, clock, memory_limit, seed, progress)
        if found is not None and is_final:
            return found
    switches = switches or ArcsSwitches()
    try:
        with clock.setting_up_again():
            supports = over_supports(model) if act_time is None and not hopeless and not plain else None
        if supports is not None and supports.possible:
            told = supports.model()
            result = _by_search(told, switches, epsilon, clock, memory_limit, seed, progress, None, found, False)
            if result.status != INFEASIBLE:
                return result if found is not None and result.policy is found.policy else supports.told(result)
        # What is needed of each cost alone is to be told of the model itself.
        hopeless = hopeless or supports is not None
        return _by_search(model, switches, epsilon, clock, memory_limit, seed, progress, act_time, found, hopeless)
    except TimeUpError:
        if found is None:
            raise
        return replace(found, status=TIME_LIMIT)


def _by_search(
    model: CPOMDP,
    switches: ArcsSwitches,
    epsilon: float,
    clock: Clock,
    memory_limit: float,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
    act_time: float | None,
    found: Result | None,
    hopeless: bool,
) -> Result:
    """Search by belief plans, levels and rays, from what was found before if there is something."""
    with clock.stopped():
        load_kernels()
        if act_time is not None:
            load_acting_kernels()
        if (model.spending_limit >= NEARLY_UNCONSTRAINED * model.most_spent).all():
            unconstrained.load_kernels()  # it may be needed too
    with clock.setting_up_again():
        graph_search = BeliefGraphSearch(
            model, Objective(1.0, np.zeros(model.n_costs)), switches.belief_graph, memory_limit
        )
        is_free = (model.spending_limit >= most_spent(graph_search)).all() and not model.has_step_limits
        search = None if is_free else BudgetSearch(graph_search, switches, hopeless)
    if search is None:
        return _without_budget(graph_search, epsilon, clock, seed, progress)
    result = _solve(search, epsilon, clock, seed, progress, found)
    if act_time is None or not result.admissible:
        return result
    result = with_expected_costs(result, model, clock, seed)  # of what is followed if nothing better is found
    return replace(result, policy=OnlinePolicy(search, search.best_belief_plan, act_time, epsilon))


def _by_kind(
    model: CPOMDP,
    epsilon: float,
    clock: Clock,
    memory_limit: float,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
) -> tuple[Result | None, bool]:
    """Solve what has few beliefs, or ever new ones, by what is best at it; None if the model is neither.

    And whether that is final: where beliefs are few, and finer levels are not worth it, a search should go on.
    """
    if may_have_few_beliefs(model):
        with clock.stopped():
            load_few_belief_kernels()
        few = few_beliefs(model, memory_limit, lambda: clock.over)
        if few is not None:
            try:
                found = solve_few(few, epsilon, clock, memory_limit, seed, progress)
            except MemoryError:  # the policy would take too much
                return None, False
            if found.admissible and (found.sure_cost > model.spending_limit).any():
                return None, False  # rounding of levels has added up
            return found, found.status != STALLED
    process = _without_time(model)
    if process is not None and may_be_noisy(process):
        with clock.stopped():
            point_based.load_kernels()
        if is_noisy(process, np.array(model.spending_limit)):
            return point_based.solve_noisy(model, epsilon, clock, memory_limit, seed, progress), True
    return None, False


def _without_time(model: CPOMDP) -> CPOMDP | None:
    """The process whose noise is looked at: with the time every belief is new. None if there is none."""
    if model.horizon is None:
        return model
    return model.base if model.base is not None and model.discount < 1 else None


def _solve(
    search: BudgetSearch,
    epsilon: float,
    clock: Clock,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
    before: Result | None,
) -> Result:
    """Search, from what was found before if there is something, and say what was found."""
    if before is None:
        clock.ready()
    trace = (
        [_point(search, 0.0)] if before is None else [*before.trace, _point(search, clock.seconds, before.trace[-1])]
    )
    try:
        search.probe(epsilon, _PROBE)
        status = _search(search, epsilon, clock, trace, progress)
        if status == INFEASIBLE:
            search.bracket(lambda: clock.over)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(clock):
        return _outcome(search, status, clock, trace, seed, before)


def _outcome(
    search: BudgetSearch, status: str, clock: Clock, trace: list[TracePoint], seed: int, before: Result | None
) -> Result:
    """What was found: by the search, or before it if that was no worse."""
    trace.append(_point(search, clock.seconds, trace[-1]))
    if before is not None and before.lower >= search.lower - search.slack:
        last = trace[-1]
        before = replace(before, status=status, trace=trace, evidence=search)
        return replace(before, lower=last.lower, upper=last.upper, seconds=last.seconds)
    best = search.best_belief_plan
    belief_plan = best if best >= 0 else search.thriftiest_belief_plan
    total, sure = search.belief_plans.total[belief_plan], search.belief_plans.sure[belief_plan]
    return outcome(
        status,
        trace,
        clock.setup_seconds,
        seed,
        policy=ControllerPolicy(search.model, *search.graph(belief_plan)),
        reward=float(total[0]),
        cost=total[1:].copy(),
        sure_cost=sure.copy(),
        admissible=best >= 0,
        horizon=0 if best >= 0 else search.horizon(belief_plan),
        needed=search.needed,
        visits=search.visits,
        evidence=search,
    )


def _search(
    search: BudgetSearch,
    epsilon: float,
    clock: Clock,
    trace: list[TracePoint],
    progress: Callable[[TracePoint], None] | None,
) -> str:
    """Trials, with a look at multipliers now and then and more levels when they hold it up; return what ended it."""
    inner_epsilon = max(epsilon - 2 * search.slack, search.slack)
    next_multiplier = _FIRST_MULTIPLIER
    while not trace[-1].upper - trace[-1].lower <= epsilon:
        if search.infeasible:
            return INFEASIBLE
        if clock.over:
            return TIME_LIMIT
        if search.out_of_memory:
            return MEMORY_LIMIT
        with clock.slice(lambda: search.graph_search.work) as work:
            search.search(inner_epsilon, work, next_multiplier)
        has_time = clock.left is None or _NEXT_LAYOUT * search.layout_seconds <= clock.left
        if search.still and search.gap > inner_epsilon and not (has_time and search.refine()):
            return STALLED if has_time else TIME_LIMIT
        if search.trials >= next_multiplier:
            next_multiplier *= _NEXT_MULTIPLIER
            if has_time:
                search.update_multiplier()
        trace.append(_point(search, clock.seconds, trace[-1]))
        if progress is not None:
            progress(trace[-1])
        if search.gap <= inner_epsilon and trace[-1].upper - trace[-1].lower > epsilon and not search.infeasible:
            return STALLED
    return OPTIMAL


def _without_budget(
    graph_search: BeliefGraphSearch,
    epsilon: float,
    clock: Clock,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
) -> Result:
    """No policy can exceed the budget: the optimum is that of the POMDP without one."""
    found = unconstrained.sarsop(
        graph_search.model,
        epsilon=epsilon,
        time_limit=clock.left,
        memory_limit=graph_search.memory_limit,
        warm_start=graph_search,
        progress=progress,
    )
    return replace(
        found,
        solver="arcs",
        variant="levels",
        sure_cost=np.minimum(found.sure_cost, most_spent(graph_search))
        if graph_search.model.n_costs
        else found.sure_cost,
        setup_seconds=clock.seconds - found.seconds,
        admissible=True,
        seed=seed,
    )


def _one_step(model: CPOMDP, seed: int) -> Result:
    """Without a future (γ = 0) the best affordable first action is all there is."""
    b = model.initial_belief
    rewards, costs = b @ model.reward, b @ model.cost  # [A], [K, A]
    limit = np.minimum(model.spending_limit, model.arrays.step_limit)
    affordable = (costs <= limit[:, None]).all(axis=0)
    if affordable.any():
        a = int(np.where(affordable, rewards, -np.inf).argmax())
        value = float(rewards[a])
    else:
        a, value = int((costs / np.maximum(limit, 1e-300)[:, None]).max(axis=0).argmin()), -np.inf
    return outcome(
        OPTIMAL if affordable.any() else INFEASIBLE,
        [TracePoint(0.0, value, value, 0, 1, model.n_actions)],
        0.0,
        seed,
        policy=blind(model, a),
        reward=float(rewards[a]),
        cost=costs[:, a].copy(),
        sure_cost=costs[:, a].copy(),
        admissible=bool(affordable.any()),
        needed=costs.min(axis=1),
        visits=1,
    )


def _point(search: BudgetSearch, seconds: float, before: TracePoint | None = None) -> TracePoint:
    """The bounds now, rounded outward; what held before still does, and counts go on from there."""
    now = TracePoint(seconds, search.lower - search.slack, search.upper + search.slack, search.trials, *search.sizes)
    if before is None:
        return now
    return TracePoint(
        seconds,
        max(now.lower, before.lower),
        min(now.upper, before.upper),
        max(now.trials, before.trials),
        max(now.beliefs, before.beliefs),
        max(now.plans, before.plans),
    )


@cache
def load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs: a few steps on the smallest model."""
    search = _smallest_search()
    search.search(0.0, 10, 2)
    search.refine()


@cache
def load_acting_kernels() -> None:
    """The same for what only acting needs."""
    search = _smallest_search()
    policy = OnlinePolicy(search, search.thriftiest_belief_plan, 0.0, 1.0)
    policy.update(policy.initial(np.random.default_rng(0)), 0)


def _smallest_search() -> BudgetSearch:
    return BudgetSearch(BeliefGraphSearch(smallest_model(), Objective(1.0, np.zeros(1))))
