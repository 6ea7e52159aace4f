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
from typing import Any

import numpy as np

from ...deadline import TimeUpError
from ...errors import InputError, did_you_mean
from ...model import CPOMDP
from ...policies import blind
from ...verification.proof import EVERY_HISTORY
from .. import sarsop as unconstrained
from ..arcs_published.solve import arcs_paper
from ..checks import check_budgets, check_common, check_k, check_totals, is_number
from ..clock import Clock
from ..early import Aim, answers_early, finishing
from ..effort import Effort
from ..finite_k.solve import finite_k
from ..folding import folded, unfolded
from ..policy_value import with_expected_costs
from ..proofs.write import check_provable, with_proof
from ..result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result, TracePoint
from ..route import Route, choose_route
from ..warmup import load_model_kernels
from .base_cost import with_base_cost, without_base_cost
from .by_search import by_search
from .certain_ends import with_certain_ends, without_certain_ends
from .few_beliefs import few_beliefs, may_have_few_beliefs, solve_few
from .few_beliefs import load_kernels as load_few_belief_kernels
from .joint_need import jointly_infeasible
from .online import OnlinePolicy
from .outcome import outcome
from .search import ArcsSwitches
from .slack_budgets import most_from_start, slack_costs, with_slack_budgets, without_slack_budgets
from .step_limits import with_some_budget, without_that_budget
from .supports import OverSupports, over_supports

VARIANTS = ("levels", "paper")
_FOR_LEAST_BUDGETS = "no policy keeps the budgets, and the least ones are asked for"
_STATUS_OF = {TimeUpError: TIME_LIMIT, MemoryError: MEMORY_LIMIT, KeyboardInterrupt: INTERRUPTED}


def _aim(model: CPOMDP, *, k: float | None = None, **_: Any) -> Aim:
    return Aim(in_every_history=k is None or np.isinf(k))


@answers_early("arcs", _aim)
def arcs(
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
    check_k(k)
    if act_time is not None and (not is_number(act_time) or not act_time >= 0):
        raise InputError(f"the time before a step must be at least 0, not {act_time!r}")
    if variant not in VARIANTS:
        raise InputError(f"unknown variant {variant!r}{did_you_mean(variant, VARIANTS)} (known: {', '.join(VARIANTS)})")
    if variant != "paper" and (pruning is not True or heuristic_share != 0.5 or ties != "best"):
        raise InputError("pruning, heuristic_share and ties are those of the variant 'paper'")
    check_totals(model)
    check_budgets(model)
    limits: dict[str, Any] = {"epsilon": epsilon, "time_limit": time_limit, "memory_limit": memory_limit}
    limits |= {"seed": seed, "progress": progress}
    if k is not None and np.isfinite(k):
        if variant != "levels" or switches is not None or act_time is not None or proof:
            raise InputError(
                "a finite k goes without variant, switches, act_time and proof, which are for every history"
            )
        return unfolded(_finite(_as_published(model, "a finite k"), int(k), **limits), model)
    if variant == "paper":
        if switches is not None or proof:
            raise InputError("switches and proof are those of the variant 'levels'; 'paper' has none")
        told = _as_published(model, "the variant 'paper'")
        own: dict[str, Any] = {"pruning": pruning, "heuristic_share": heuristic_share, "ties": ties}
        return unfolded(arcs_paper(told, act_time=act_time, **own, **limits), model)
    if isinstance(switches, Mapping):
        switches = ArcsSwitches.of(switches)
    if proof:
        check_provable(model)
    if model.discount == 0:
        return _one_step(model, seed)
    load_model_kernels()
    effort = Effort(epsilon, Clock(time_limit).watch(), memory_limit, seed, progress, proves=proof)
    return _in_every_history(model, effort, switches, act_time, proof)


def _in_every_history(
    model: CPOMDP, effort: Effort, switches: ArcsSwitches | None, act_time: float | None, proof: bool
) -> Result:
    """Solve the RC-POMDP by our own search, and prove the upper bound if that is asked for."""
    known_infeasible = jointly_infeasible(model)
    if act_time is not None:
        found = _acting(model, effort, switches, act_time, known_infeasible)
    else:
        found = _simplified(model, effort, switches, known_infeasible)
    if not proof:
        return replace(found, evidence=None)
    if act_time is None and not known_infeasible and found.evidence is not None and found.evidence.model is not model:
        # What was searched was the model in another guise; the proof is to be of the model itself.
        again = effort._replace(clock=Clock(effort.clock.time_limit), progress=None)
        found = replace(found, evidence=_by_route(model, again, switches, plain=True).evidence)
    return with_proof(model, found, EVERY_HISTORY, effort.epsilon)


def _acting(
    model: CPOMDP, effort: Effort, switches: ArcsSwitches | None, act_time: float, known_infeasible: bool
) -> Result:
    """Solve for a policy that searches on while it acts; it knows the costs of each step, so the model stays as is."""
    if model.has_step_limits and not np.isfinite(model.budget).any():
        raise InputError("a search while acting needs a budget beside step limits")
    if not model.has_step_limits and slack_costs(model).all():
        return _without_budget(model, effort)
    route = choose_route(model, needs="the policy searches on while it acts")
    found = by_search(model, effort, route, switches=switches, act_time=act_time, known_infeasible=known_infeasible)
    if isinstance(found.policy, OnlinePolicy):
        return found
    return with_expected_costs(found, model, effort.clock, effort.seed)


def _simplified(model: CPOMDP, effort: Effort, switches: ArcsSwitches | None, known_infeasible: bool) -> Result:
    """Solve the model without what is the same for all policies: slack budgets, costs at every step, certain ends."""
    told = with_some_budget(model)
    tight, slack = without_slack_budgets(told)
    rest, base = without_base_cost(tight)
    clear, ends = with_certain_ends(rest)
    found, clock = _by_route(clear, effort, switches, known_infeasible=known_infeasible), effort.clock
    with finishing(clock):
        found = with_base_cost(without_certain_ends(found, rest, ends), tight, base)
        found = with_slack_budgets(found, told, slack, clock)
        found = with_expected_costs(without_that_budget(found, model), model, clock, effort.seed)
        return replace(found, seconds=max(found.seconds, clock.elapsed - found.setup_seconds))


def _by_route(
    model: CPOMDP,
    effort: Effort,
    switches: ArcsSwitches | None,
    *,
    known_infeasible: bool = False,
    plain: bool = False,
) -> Result:
    """Solve by facts that make a search unnecessary, and else by search.

    `switches` are those of the belief-graph search, which then is all that is tried; `plain`: the model stays as is.
    """
    if not model.has_step_limits and slack_costs(model).all():
        return _without_budget(model, effort)
    found = None
    if (switches is None or plain) and not known_infeasible:
        found = _few(model, effort)
        if found is not None and found.status != STALLED:
            return found
    route = choose_route(model, needs=None if switches is None else "its switches are given")
    if known_infeasible:
        route = choose_route(model, needs=_FOR_LEAST_BUDGETS)
    try:
        with effort.clock.setting_up_again():
            supports = over_supports(model) if not known_infeasible and not plain else None
        if supports is not None and supports.possible:
            result = _over_supports(supports, effort, route, switches, found)
            if result.status != INFEASIBLE:
                return result
        # What is needed of each cost alone is to be told of the model itself.
        if supports is not None:
            route, known_infeasible = choose_route(model, needs=_FOR_LEAST_BUDGETS), True
        return by_search(model, effort, route, found=found, switches=switches, known_infeasible=known_infeasible)
    except (TimeUpError, MemoryError, KeyboardInterrupt) as error:
        if found is None:
            raise
        return replace(found, status=_STATUS_OF[type(error)])


def _few(model: CPOMDP, effort: Effort) -> Result | None:
    """Solve a model of few beliefs by value iteration; None if they are many. STALLED: a search should go on."""
    clock = effort.clock
    if not may_have_few_beliefs(model):
        return None
    with clock.stopped():
        load_few_belief_kernels()
    few = few_beliefs(model, effort.memory_limit, lambda: clock.over)
    if few is None:
        return None
    try:
        found = solve_few(few, effort)
    except MemoryError:  # the policy would take too much
        return None
    if found.admissible and (found.sure_cost > model.spending_limit).any():
        return None  # rounding of levels has added up
    why = f"value iteration over few beliefs: all histories lead to {few.n_beliefs} of them"
    return replace(found, route=why)


def _over_supports(
    supports: OverSupports, effort: Effort, route: Route, switches: ArcsSwitches | None, found: Result | None
) -> Result:
    """Solve the model over supports, in which budgets of nothing are gone, and tell the result of the model itself."""
    inner = supports.model()
    if not inner.has_step_limits and slack_costs(inner).all():
        result = _without_budget(inner, effort)
    else:
        result = by_search(inner, effort, route, found=found, switches=switches)
    if found is not None and result.policy is found.policy:
        return result
    return replace(supports.told(result), route=f"{route}; over supports, for some budgets are nothing")


def _without_budget(model: CPOMDP, effort: Effort) -> Result:
    """No policy can exceed the budget: the optimum is that of the POMDP without one."""
    most = most_from_start(model)
    found = unconstrained.best_reward(model, effort)
    return replace(
        found,
        solver="arcs",
        variant="levels",
        sure_cost=np.minimum(found.sure_cost, most),
        admissible=True,
        seed=effort.seed,
        route=f"no budget can bind; {found.route}",
    )


def _as_published(model: CPOMDP, what: str) -> CPOMDP:
    """The model with costs as those of the paper are: discounted as the reward is, and limited in total alone."""
    for i in np.flatnonzero(np.isfinite(model.step_limit)).tolist():
        raise InputError(
            f"{what} goes without limits for single steps, and cost {model.costs[i]!r} has the step limit "
            f"{model.step_limit[i]:.12g}"
        )
    return folded(model, what)


def _finite(model: CPOMDP, k: int, **options: Any) -> Result:
    """Solve for a finite k; where k makes no difference, as for every history."""
    free = not np.isfinite(model.budget).any() or not model.cost.any() or model.terminal[model.initial_belief > 0].all()
    if k > 1 and (free or model.discount == 0):
        return replace(arcs(model, **options), k=k)
    return finite_k(model, k, **options)


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
