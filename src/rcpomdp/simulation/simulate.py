"""Simulated runs of a policy: rows, means with standard errors, violation rate.

A run is *in violation* if the remaining budget ``d(h_t)``, computed from beliefs, goes below 0 at some step
(paper, Sec. 7). In the units of the root this is ``W(h_t) = Σ_{τ<t} γ^τ C(b_τ, a_τ) > ĉ``; rounding does not
grow there, while it does along ``d' = (d − C(b, a)) / γ``. A realised cost above the budget is no violation
by itself: it is reported apart, as overrun.

Random numbers belong to runs: block i of the runs draws from child i of the seed, whoever computes it. Two
policies simulated with one seed draw the same numbers, and the number of workers changes nothing.
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .. import _processes
from .._json_values import finite
from .._types import FloatArray
from ..errors import InputError, PolicyError
from ..kernels.simulation import rollout
from ..kernels.simulation.rollout import ENDED, NEVER, Outcome
from ..model import CPOMDP, beliefs
from ..policies.base import Policy, batches
from ..views import notebook
from . import random_streams
from .trajectory import follow

_BLOCKS_PER_TASK = 8  # what a worker is given at a time
_MOST_STEPS = 10**7

_COLUMNS = ("run", "reward", "violation_step", "length", "ended")


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    se: float


@dataclass(frozen=True)
class Simulation:
    """Outcome of simulated runs; arrays are indexed by run."""

    model: CPOMDP
    steps: int
    seed: int
    requested: int  # runs asked for; fewer are here if the simulation was interrupted
    outcome: Outcome

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.outcome.reward)

    @cached_property
    def reward(self) -> Estimate:
        """Discounted reward."""
        return _estimate(self.outcome.reward)

    @cached_property
    def cost(self) -> list[Estimate]:
        """Each discounted cost, as it fell out."""
        return [_estimate(c) for c in self.outcome.cost.T]

    @cached_property
    def spent(self) -> list[Estimate]:
        """Each discounted cost as the agent expected it step by step, W(h)."""
        return [_estimate(w) for w in self.outcome.spent.T]

    @cached_property
    def violation_rate(self) -> Estimate:
        """Share of runs in which d(h_t) goes below 0 at some step."""
        return _rate(self.outcome.violation != NEVER)

    @cached_property
    def overrun_rate(self) -> Estimate:
        """Share of runs whose realised cost exceeds the budget."""
        return _rate((self.outcome.cost > self.model.spending_limit).any(axis=1))

    @cached_property
    def length(self) -> Estimate:
        """Steps until the process ended, or all of them."""
        return _estimate(self.outcome.length.astype(np.float64))

    @cached_property
    def truncation(self) -> tuple[float, list[float]]:
        """At most how far longer runs could move the mean reward, and each mean cost.

        A run that has not ended can still earn at most ``γ^steps max|R| / (1 − γ)``; a cost that is not discounted may
        add up for ever.
        """
        going_on, model = 1.0 - float(self.outcome.ended.mean()), self.model
        if not going_on:
            return 0.0, [0.0] * model.n_costs
        tail = going_on * model.discount**self.steps / model.fade
        costs = going_on * model.cost_discount**self.steps * model.most_spent
        return tail * float(np.abs(model.reward).max()), costs.tolist()

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per run, of plain numbers."""
        o = self.outcome
        names = [str(name) for name in self.model.costs]
        if len({*_COLUMNS, *names, *(f"{name}_spent" for name in names)}) < len(_COLUMNS) + 2 * len(names):
            names = [f"cost {k}: {name}" for k, name in enumerate(names)]  # labels that are columns already
        for run in range(self.runs):
            row: dict[str, Any] = {"run": run, "reward": float(o.reward[run])}
            for k, name in enumerate(names):
                row[name] = float(o.cost[run, k])
                row[f"{name}_spent"] = float(o.spent[run, k])
            step = int(o.violation[run])
            row |= {"violation_step": None if step == NEVER else step, "length": int(o.length[run])}
            yield row | {"ended": bool(o.ended[run])}

    def summary(self) -> dict[str, Any]:
        """All estimates as plain numbers, ready for JSON; what is not finite is None."""
        reward_tail, cost_tail = self.truncation
        return {
            "runs": self.runs,
            "requested": self.requested,
            "interrupted": self.runs < self.requested,
            "steps": self.steps,
            "seed": self.seed,
            "violation_rate": _plain(self.violation_rate),
            "overrun_rate": _plain(self.overrun_rate),
            "reward": _plain(self.reward) | {"truncation": finite(reward_tail)},
            "costs": [
                {"name": str(name), "budget": finite(float(budget)), **_plain(cost)}
                | {"truncation": finite(tail), "spent": _plain(spent)}
                for name, budget, cost, tail, spent in zip(
                    self.model.costs, self.model.budget, self.cost, cost_tail, self.spent, strict=True
                )
            ],
            "length": _plain(self.length),
            "ended": float(self.outcome.ended.mean()),
        }

    def __repr__(self) -> str:
        name = self.model.name or "model"
        costs = ", ".join(
            f"{label} {c.mean:.4g} ± {c.se:.2g}" for label, c in zip(self.model.costs, self.cost, strict=True)
        )
        return (
            f"Simulation of {name}: {self.runs} runs, reward {self.reward.mean:.4g} ± {self.reward.se:.2g}, "
            f"{costs + ', ' if costs else ''}violation rate {self.violation_rate.mean:.3f}"
        )

    def _repr_html_(self) -> str:
        return notebook.simulation(self)


def simulate(
    model: CPOMDP,
    policy: Policy[Any],
    runs: int = 1000,
    steps: int = 20,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
    paths: bool = False,
) -> Simulation:
    """Run a policy `runs` times for at most `steps` steps each.

    The same seed gives the same rows whatever the number of `workers` (processes). `progress` is called with
    the number of runs done. `paths` keeps the states of each run, as ``outcome.path``. An interrupt (Ctrl-C) returns
    the runs that were finished by then, if any.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> rc.simulate(model, rc.policies.blind(model, "tunnel-B"), runs=100, seed=1)
    Simulation of ce: 100 runs, reward 10 ± 0, cost 5 ± 0, violation rate 0.000
    """
    for value, what, least in ((runs, "runs", 1), (steps, "steps", 0), (seed, "seed", 0), (workers, "workers", 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{what} must be a whole number of at least {least}, not {value!r}")
    runs, steps, seed, workers = int(runs), int(steps), int(seed), int(workers)
    if steps > _MOST_STEPS:
        raise InputError(f"steps must be at most {_MOST_STEPS:,}, not {steps:,}")
    if not all(hasattr(policy, name) for name in ("initial", "action", "update")):
        raise PolicyError(f"{policy!r} is no policy: it lacks initial, action or update")
    size = random_streams.block_runs(steps)
    n_blocks = math.ceil(runs / size)
    blocks = (_Block(seed, i, min(size, runs - i * size), steps, paths) for i in range(n_blocks))
    done: list[Outcome] = []
    finished = 0
    try:
        for outcome in _run_all(model, policy, blocks, n_blocks, workers):
            done.append(outcome)
            finished += len(outcome.reward)
            if progress is not None:
                progress(finished)
    except KeyboardInterrupt:
        if not done:
            raise
    joined = Outcome(*(np.concatenate(parts) for parts in zip(*done, strict=True)))
    return Simulation(model, steps, seed, runs, joined)


class _Block(NamedTuple):
    """Consecutive runs that draw from one child of the seed."""

    seed: int
    number: int
    runs: int  # to do; fewer in the last block
    steps: int
    paths: bool  # whether to keep the states


def _run_all(
    model: CPOMDP, policy: Policy[Any], blocks: Iterable[_Block], n_blocks: int, workers: int
) -> Iterator[Outcome]:
    workers = min(workers, n_blocks)
    if workers == 1:
        yield from (_run_block(model, policy, block) for block in blocks)
        return
    share = max(1, min(_BLOCKS_PER_TASK, n_blocks // (4 * workers)))
    context = multiprocessing.get_context()
    stop = context.Event()
    start = (model, policy, stop, os.getpid())
    with ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=start) as pool:
        queue: deque[Future[list[Outcome]]] = deque()
        try:
            blocks = iter(blocks)
            while task := list(islice(blocks, share)):
                queue.append(pool.submit(_work, task))
                if len(queue) >= 4 * workers:
                    yield from queue.popleft().result()
            while queue:
                yield from queue.popleft().result()
        finally:
            stop.set()  # after an interrupt: what is queued is dropped, what runs ends with the run in hand
            pool.shutdown(cancel_futures=True)


_worker: list[Any] = []  # model, policy and stop sign of a worker process


def _start_worker(model: CPOMDP, policy: Policy[Any], stop: Any, parent: int) -> None:
    _processes.serve(parent)
    _worker[:] = [model, policy, stop]


def _work(blocks: Sequence[_Block]) -> list[Outcome]:
    model, policy, stop = _worker
    return [_run_block(model, policy, block, stop.is_set) for block in blocks if not stop.is_set()]


def _run_block(
    model: CPOMDP, policy: Policy[Any], block: _Block, stopped: Callable[[], bool] = lambda: False
) -> Outcome:
    u_start, u, policy_rng = random_streams.block(block.seed, block.number, block.steps)
    states = [policy.initial(policy_rng) for _ in range(block.runs)]
    outcome = _empty_outcome(block.runs, model.n_costs, block.steps + 1 if block.paths else 0)
    start = beliefs.initial(model)
    for batch in batches(policy, states, model):
        if batch.program is None:
            for run in batch.runs:
                if stopped():
                    break  # nobody waits for this block any more
                _run_one(model, policy, states[run], int(run), u_start, u, outcome)
        else:
            stuck = rollout.run_batch(
                model.arrays,
                model.discount,
                model.spending_limit,
                model.terminal,
                *start,
                batch.program,
                batch.memory,
                batch.runs,
                u_start,
                u,
                outcome,
            )
            if stuck != NEVER:
                _run_one(model, policy, states[stuck], stuck, u_start, u, outcome)  # tells what is wrong
    return outcome


def _run_one(
    model: CPOMDP, policy: Policy[Any], state: Any, run: int, u_start: FloatArray, u: FloatArray, out: Outcome
) -> None:
    """One run through the policy protocol: what `run_batch` does, step by step and to the last bit."""
    for step in follow(model, policy, state, float(u_start[run]), u[:, run]):
        if out.path.size:
            out.path[run, step.time] = step.state
        if out.violation[run] == NEVER and (step.spent > model.spending_limit).any():
            out.violation[run] = step.time - 1
        if step.action is not None:
            if out.violation[run] == NEVER and (step.cost > step.cost_weight * model.arrays.step_limit).any():
                out.violation[run] = step.time
            out.cost[run] += step.cost_weight * model.cost[:, step.state, step.action]
            if not model.terminal[step.state]:
                out.length[run] = step.time + 1
    out.reward[run], out.spent[run], out.ended[run] = step.reward, step.spent, model.terminal[step.state]


def _empty_outcome(runs: int, n_costs: int, states: int) -> Outcome:
    """Room for runs, with a path of so many states each."""
    return Outcome(
        reward=np.zeros(runs),
        cost=np.zeros((runs, n_costs)),
        spent=np.zeros((runs, n_costs)),
        violation=np.full(runs, NEVER),
        length=np.zeros(runs, dtype=np.int64),
        ended=np.zeros(runs, dtype=np.bool_),
        path=np.full((runs, states), ENDED),
    )


def _estimate(values: FloatArray) -> Estimate:
    n, mean = len(values), float(values.mean())
    if n == 1:
        return Estimate(mean, math.nan)
    if values.min() == values.max():
        return Estimate(float(values[0]), 0.0)  # without the rounding of a mean
    return Estimate(mean, float(values.std(ddof=1)) / math.sqrt(n))


def _rate(happened: Any) -> Estimate:
    p = float(np.mean(happened))
    return Estimate(p, math.sqrt(p * (1 - p) / len(happened)))


def _plain(estimate: Estimate) -> dict[str, float | None]:
    return {"mean": finite(estimate.mean), "se": finite(estimate.se)}
