"""What a solve returns that is stopped before there is anything to search with.

Where time or memory are up in the set-up, or an interrupt comes, the bounds are what can be said at once: no policy
earns more than the largest reward at every step, and one action for ever earns at least its least reward at every step
(in a small model what it earns exactly) and spends at most its largest cost. The policy is such an action: the best of
those that surely keep the budget, or else the one that comes nearest to that. What it is worth in a large model is
estimated by a few runs of the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, ParamSpec

import numpy as np

from .._types import FloatArray
from ..deadline import TimeUpError, now, within
from ..evaluation import evaluate
from ..model import CPOMDP
from ..model.endings import adding_up
from ..policies import ControllerPolicy, blind
from .clock import Clock
from .policy_value import Worth
from .result import INTERRUPTED, MEMORY_LIMIT, TIME_LIMIT, Result, TracePoint

_P = ParamSpec("_P")
_SMALL = 500  # states up to which nothing has to be estimated
_RUNS = 20
_TAIL, _MOST_STEPS = 1e-3, 500  # runs end when so little may follow, or after so many steps


class Aim(NamedTuple):
    """What a solve maximises, and where its policies keep the budget."""

    objective: str = "reward"
    gain: FloatArray | None = None  # [S, A] in place of the reward
    is_cost: bool = False  # bounds are told of the gain with its sign turned
    budgets: bool = True  # whether they count
    in_every_history: bool = False  # and whether that is claimed


def answers_early(
    solver: str, aim: Callable[..., Aim] = lambda model, **options: Aim()
) -> Callable[[Callable[_P, Result]], Callable[_P, Result]]:
    """Decorate a solver: where it is stopped with nothing to show, it returns what can be said at once."""

    def decorate(solve: Callable[_P, Result]) -> Callable[_P, Result]:
        @wraps(solve)
        def answered(*args: _P.args, **options: _P.kwargs) -> Result:
            began = now()
            try:
                with within():  # whatever clock the solver watches, it does so until here
                    return solve(*args, **options)
            except TimeUpError:
                status = TIME_LIMIT
            except MemoryError:
                status = MEMORY_LIMIT
            except KeyboardInterrupt:
                status = INTERRUPTED
            model: Any = args[0] if args else options.pop("model")
            found = _at_once(solver, model, aim(model, **options), status, options)
            return replace(found, setup_seconds=now() - began)

        return answered

    return decorate


def _at_once(solver: str, model: CPOMDP, aim: Aim, status: str, options: dict[str, Any]) -> Result:
    """Bounds and a policy from the largest and least numbers of the model alone."""
    gain = model.reward if aim.gain is None else aim.gain
    least = np.minimum(gain.min(axis=0), 0.0) if model.terminal.any() else gain.min(axis=0)  # [A]
    most = max(float(gain.max()), 0.0) if model.terminal.any() else float(gain.max())
    dearest = model.cost.max(axis=1)  # [K, A]
    sure = adding_up(dearest.T, model.cost_fade)  # [A, K]
    kept = (sure <= model.spending_limit).all(axis=1) & (dearest <= model.step_limit[:, None]).all(axis=0)
    if not aim.budgets:
        kept[:] = True
    limited = np.isfinite(model.budget)
    with np.errstate(over="ignore"):
        share = (sure[:, limited] / np.maximum(model.spending_limit[limited], 1e-300)).max(axis=1, initial=0.0)
    action = int(np.where(kept, least, -np.inf).argmax() if kept.any() else share.argmin())
    lower, upper = float(least[action] / model.fade) if kept.any() else -np.inf, most / model.fade
    if aim.is_cost:
        lower, upper = max(0.0, -upper), -lower
    policy = blind(model, action)
    worth, off = _worth(model, policy, action, int(options.get("seed") or 0))
    if kept.any() and aim.gain is None:
        lower = min(max(lower, worth.reward - off), upper)
    proven = bool(kept.any()) if aim.in_every_history else None
    return Result(
        solver=solver,
        objective=aim.objective,
        status=status,
        lower=lower,
        upper=upper,
        reward=worth.reward,
        cost=worth.cost,
        sure_cost=sure[action],
        policy=policy,
        seconds=0.0,
        setup_seconds=0.0,
        trace=[TracePoint(0.0, lower, upper, 0, 1, model.n_actions)],
        variant=options.get("variant", "levels") if aim.in_every_history else None,
        admissible=proven,
        horizon=0 if proven is False else None,
        k=options.get("k"),
        seed=options.get("seed"),
        suffices=sure[action] if proven is False else None,
        needed=np.zeros(model.n_costs) if proven is False else None,
        standard_error=worth.error,
        runs=worth.runs,
        route="no search: the solve was stopped before there was one",
    )


def _worth(model: CPOMDP, policy: ControllerPolicy, action: int, seed: int) -> tuple[Worth, float]:
    """The value of an action for ever, exactly in a small model, and by how much its reward may be off."""
    if model.n_states <= _SMALL:
        exact = evaluate(model, policy)
        return Worth(exact.reward, exact.cost), exact.error
    runs = _runs(model, action, seed)
    mean = runs.mean(axis=0)
    return Worth(float(mean[0]), mean[1:], runs.std(axis=0, ddof=1) / np.sqrt(_RUNS), _RUNS), np.inf


def _runs(model: CPOMDP, action: int, seed: int) -> FloatArray:
    """Discounted reward and costs of a few runs under one action, [runs, 1 + K]."""
    rng = np.random.default_rng(seed)
    moves = model.transition[action]
    gain = np.concatenate([model.reward[None], model.cost])[:, :, action]  # [1 + K, S]
    discount = np.append(model.discount, model.cost_discount)
    steps = int(min(_MOST_STEPS, max(1.0, np.ceil(model.steps_until(_TAIL)))))
    totals = np.zeros((_RUNS, len(gain)))
    for run in range(_RUNS):
        state, weight = int(rng.choice(model.n_states, p=model.initial_belief)), np.ones(len(gain))
        for _ in range(steps):
            if model.terminal[state]:
                break
            totals[run] += weight * gain[:, state]
            weight = weight * discount
            first, last = moves.indptr[state], moves.indptr[state + 1]
            drawn = np.searchsorted(np.cumsum(moves.data[first:last]), rng.random(), side="right")
            state = int(moves.indices[min(first + int(drawn), last - 1)])
    return totals


@contextmanager
def finishing(clock: Clock) -> Iterator[None]:
    """The search is over, and what it found is put together: the first interrupt changes nothing about that."""
    clock.finish()
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(*_: Any) -> None:
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
