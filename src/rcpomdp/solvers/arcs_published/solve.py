"""ARCS as published: Anytime Recursively Constrained Search (Ho et al. 2024, Alg. 1 to 5), for one cost.

A policy tree is grown from ``(b_0, ĉ)``: SAMPLE descends, half the time as SARSOP does and half the time by chance;
BACKUP updates the sampled nodes' two-sided bounds on reward and cost and the admissible horizon k; PRUNE drops what is
inadmissible or dominated. Leaves continue with the minimum-cost policy. It stops once the policy is proven to keep the
budget in every history (``k_0 = ∞``) and the gap at the root is at most epsilon. It is not complete: it may never stop
by itself.

Where the paper slips, is silent, or proves less than it says:

- A leaf takes the pair of least *cost*, ties by most reward (Alg. 1 line 2 and Alg. 3 line 5 read argmin α_r).
  SampleRandom skips observations that cannot follow, and both kinds of sampling skip what is pruned.
- ``α_r`` and ``α_c`` are earned by a plan that is *followed*. Lemma 1 bounds the cost of each step by the maximin over
  all vectors, which holds for a policy that chooses its vector anew at each belief, and then earns something else.
  Here plans are followed, and C_max of a leaf is the larger of the maximin and the largest cost that any step of its
  plan can have.
- Vectors live per observability class, and so does the linear program: a reachable belief lies inside one class.
- A finite k of Lemma 1 proves that the remaining budget is not negative after up to k steps. It does not prove
  ``V_C ≤ d`` on the way, as "k-admissible" asks; for k = ∞ the two are the same.
- Alg. 4 line 9 may take an action that is not proven admissible over one that is, so that the lower bound may rest on
  nothing. What is returned as `lower` is the reward of the best *proven* policy, remembered on the side; sampling,
  backups and pruning do not look at it. If none is proven it is −∞, and policy, reward and horizon are the tree's own.
- The lower cost bound of Alg. 4 line 23 is that of the most promising action, not the least; see `back_up`.
- ε_t (Alg. 2 line 4) is not defined: as in SARSOP it is a share κ = 0.5 of the gap at the root, or epsilon if that is
  larger, and U is L + ε_t. A descent also ends where the gap is at most ``κ ε_t γ^{-t}``, for V̂ alone may never end
  it.
- V̂ is the average lower bound of the sampled nodes alike in initial upper bound and entropy, the features that SARSOP
  bins by, kept within the node's own bounds.
- Sampling a node makes the successors of all its actions, for BACKUP needs their bounds (Alg. 4 lines 3-7).
- With `pruning` off Alg. 5 is left out, and nothing is passed over because of it: no node is marked, no action is
  disallowed. Where Alg. 4 finds no action, lines 25-28 give the node the bounds −∞ and ∞ all the same.
- The authors' program keeps an action whose cost bound is exactly d against all that come after it, for it asks for
  ``Q̄_C < d`` of whatever replaces an action. `ties="first"` does so in line 9, and follows the tree's own policy; the
  bound from above is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import InputError
from ...kernels.arcs_published.tree import ROOT
from ...model import CPOMDP
from ...policies import Policy
from .. import sarsop as unconstrained
from ..checks import check_common, check_whole, is_number
from ..clock import Clock
from ..early import Aim, answers_early, finishing
from ..result import (
    INFEASIBLE,
    INTERRUPTED,
    ITERATION_LIMIT,
    MEMORY_LIMIT,
    OPTIMAL,
    STALLED,
    TIME_LIMIT,
    Result,
    TracePoint,
)
from ..warmup import loads_kernels, smallest_ending_model, smallest_model
from .online import ActingPolicy
from .tree import PaperSearch

TIES = ("best", "first")
_FIRST_TRIALS, _GROWTH = 8, 2  # trials of the first slice of time; a tree's trials get longer, so slices grow slowly


@answers_early("arcs", lambda model, **options: Aim(in_every_history=True))
def arcs_paper(
    model: CPOMDP,
    *,
    epsilon: float = 1e-3,
    time_limit: float | None = None,
    memory_limit: float = 8e9,
    seed: int = 0,
    progress: Callable[[TracePoint], None] | None = None,
    iterations: int | None = None,
    pruning: bool = True,
    heuristic_share: float = 0.5,
    ties: str = "best",
    act_time: float | None = None,
) -> Result:
    """Solve the RC-POMDP (k = ∞) with the published algorithm.

    Parameters
    ----------
    epsilon : gap to stop at, once the policy is proven admissible
    time_limit : seconds of set-up and search, looked at once the starting bounds are there; None is unlimited, and then
        the search may go on for ever
    memory_limit : bytes that the tree and the minimum-cost policy may take
    seed : of the random choices; the same seed and number of iterations give the same result
    progress : called with the bounds now and then
    iterations : rounds of SAMPLE, BACKUP and PRUNE at most
    pruning : whether to PRUNE
    heuristic_share : probability that a round samples as SARSOP does and not by chance; the paper has 0.5
    ties : "best" takes the best of the actions whose cost bound is at most d; "first" keeps the first whose bound is
        exactly d, as the authors' program does
    act_time : seconds of search before each step while the policy runs, from where it is; the paper has 0.05

    An interrupt (Ctrl-C) returns the bounds and the policy found by then.

    >>> import rcpomdp as rc
    >>> result = arcs_paper(rc.problems.make("ce"))
    >>> result.status, result.admissible, round(result.reward, 6)  # the tunnel that costs 5 at most, whatever is seen
    ('optimal', True, 10.0)
    """
    if model.n_costs != 1:
        raise InputError(f"the published ARCS takes exactly one cost, but the model has {model.n_costs}")
    check_common(epsilon, time_limit, memory_limit, seed, progress)
    if iterations is not None:
        check_whole(iterations, "iterations", 0)
    if not is_number(heuristic_share) or not 0 <= heuristic_share <= 1:
        raise InputError(f"the share of heuristic rounds must be from 0 to 1, not {heuristic_share!r}")
    if ties not in TIES:
        raise InputError(f"ties are decided by one of {', '.join(map(repr, TIES))}, not {ties!r}")
    if act_time is not None and (not is_number(act_time) or not act_time >= 0):
        raise InputError(f"the time before a step must be at least 0, not {act_time!r}")
    if act_time is not None and ties != "best":  # what the tree follows is proven as it stands, not as it changes
        raise InputError(f"ties {ties!r} go without act_time")
    _load_kernels()
    clock = Clock(time_limit, first=_FIRST_TRIALS, least=1, growth=_GROWTH).watch()
    search = PaperSearch(model, memory_limit, seed, bool(pruning), time_limit, float(heuristic_share), ties == "first")
    return _run(search, epsilon, clock, seed, progress, iterations, act_time)


def _run(
    search: PaperSearch,
    epsilon: float,
    clock: Clock,
    seed: int,
    progress: Callable[[TracePoint], None] | None,
    iterations: int | None,
    act_time: float | None,
) -> Result:
    """Search, and say what was found."""
    clock.ready()
    trace = [search.point(0.0)]
    try:
        status = _loop(search, epsilon, iterations, clock, trace, progress)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        status = MEMORY_LIMIT
    with finishing(clock):
        found, budgets = search.policy(), search.budgets()
    trace.append(search.point(clock.seconds, trace[-1]))
    if search.setting.first_tie and found.horizon is None:
        trace[-1] = trace[-1]._replace(lower=min(found.reward - search.slack, trace[-1].upper))
    policy: Policy[Any] = found.policy
    if act_time is not None and not search.infeasible:
        policy = ActingPolicy(search, float(act_time), epsilon)
    return Result.of_search(
        "arcs",
        status,
        trace,
        clock.setup_seconds,
        variant="paper",
        policy=policy,
        reward=found.reward,
        cost=np.array([found.cost]),
        sure_cost=np.array([found.sure_cost]),
        admissible=found.horizon is None,
        horizon=found.horizon,
        tree_nodes=search.n_nodes,
        seed=seed,
        suffices=budgets.get("suffices"),
        needed=budgets.get("needed"),
    )


def _loop(
    search: PaperSearch,
    epsilon: float,
    iterations: int | None,
    clock: Clock,
    trace: list[TracePoint],
    progress: Callable[[TracePoint], None] | None,
) -> str:
    """Alg. 1, lines 7-13, in slices of time until something ends it; return what did."""
    most = np.iinfo(np.int64).max if iterations is None else iterations
    inner_epsilon = max(epsilon - 2 * search.slack, 0.0)  # the gap that is reported allows for rounding
    status = INTERRUPTED if search.interrupted else ""
    while not status:
        if search.infeasible:
            status = INFEASIBLE
        elif trace[-1].upper - trace[-1].lower <= epsilon:
            status = OPTIMAL
        elif search.gap <= inner_epsilon:
            status = STALLED
        elif clock.over:
            status = TIME_LIMIT
        elif search.trials >= most:
            status = ITERATION_LIMIT
        else:
            with clock.slice(lambda: search.trials) as trials:
                has_room = search.advance(inner_epsilon, min(trials, most - search.trials))
            if not has_room:
                return MEMORY_LIMIT
            trace.append(search.point(clock.seconds, trace[-1]))
            if progress is not None:
                progress(trace[-1])
    return status


@loads_kernels
def _load_kernels() -> None:
    """Compile the kernels, or load them from the cache, before any clock runs: two rounds on the smallest model."""
    unconstrained.load_kernels()  # for the policy at leaves
    for model in (smallest_ending_model(), smallest_model()):
        search = PaperSearch(model, np.inf, 0)
        _run(search, 0.0, Clock(None), 0, None, 2, None)
        search.advance_at(ROOT, -1.0)
