"""Simulated runs of a policy: rows, means with standard errors, violation rate.

A run is *in violation* if the remaining budget ``d(h_t)``, computed from beliefs, goes below 0 at some step
(paper, Sec. 7). In the units of the root this is ``W(h_t) = Σ_{τ<t} γ^τ C(b_τ, a_τ) > ĉ``; rounding does not
grow there, while it does along ``d' = (d − C(b, a)) / γ``. A realised cost above the budget is no violation
by itself: it is reported apart, as overrun. By how much, and whether a run had to: `overspending.py`.

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
from ..bounds.least_budget import BaseBounds
from ..deadline import charge
from ..errors import InputError
from ..kernels.simulation import rollout
from ..kernels.simulation.rollout import ENDED, NEVER, Outcome
from ..model import CPOMDP, beliefs
from ..policies.base import STEP_WORK, Policy, batches, check_policy
from ..views import notebook
from . import overspending, random_streams
from .estimates import Estimate, Spread, estimate, plain, rate, spread
from .overspending import Deliberate, FirstStep, Judge, beyond, first_step
from .trajectory import Step, follow

_BLOCKS_PER_TASK = 8  # what a worker is given at a time
_MOST_STEPS = 10**7
_NOTEWORTHY = 0.1  # of the mean reward: what runs that were cut could still add, and a reader should know
_NOT_KEPT = np.zeros(0, dtype=np.bool_)

_COLUMNS = ("run", "reward", "violation_step", "deliberate_step", "undecided", "length", "ended")


@dataclass(frozen=True)
class Simulation:
    """Outcome of simulated runs; arrays are indexed by run."""

    model: CPOMDP
    steps: int
    seed: int
    requested: int  # runs asked for; fewer are here if the simulation was interrupted
    outcome: Outcome
    deliberate: Deliberate | None = None  # if that was asked for

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.outcome.reward)

    @cached_property
    def reward(self) -> Estimate:
        """Discounted reward."""
        return estimate(self.outcome.reward)

    @cached_property
    def cost(self) -> list[Estimate]:
        """Each discounted cost, as it fell out."""
        return [estimate(c) for c in self.outcome.cost.T]

    @cached_property
    def undiscounted(self) -> list[Spread]:
        """Each cost as it fell out, without discount."""
        return [spread(c) for c in self.outcome.undiscounted.T]

    @cached_property
    def spent(self) -> list[Estimate]:
        """Each discounted cost as the agent expected it step by step, W(h)."""
        return [estimate(w) for w in self.outcome.spent.T]

    @cached_property
    def violation_rate(self) -> Estimate:
        """Share of runs in which d(h_t) goes below 0 at some step."""
        return rate(self.outcome.violation != NEVER)

    @cached_property
    def overrun_rate(self) -> Estimate:
        """Share of runs whose realised cost exceeds the budget."""
        return rate((self.outcome.cost > self.model.spending_limit).any(axis=1))

    @cached_property
    def overspent(self) -> list[Spread]:
        """By how much W(h) exceeds each budget, 0 where it does not."""
        return [spread(w) for w in beyond(self.outcome.spent, self.model.budget).T]

    @cached_property
    def overrun(self) -> list[Spread]:
        """By how much each realised cost exceeds its budget, 0 where it does not."""
        return [spread(c) for c in beyond(self.outcome.cost, self.model.budget).T]

    @cached_property
    def violation_step(self) -> FirstStep | None:
        """The step at which d(h_t) goes below 0, over the runs in violation."""
        return first_step(self.outcome.violation)

    @cached_property
    def deliberate_rate(self) -> Estimate | None:
        """Share of runs that provably overspend deliberately; None if that was not asked for."""
        return None if self.deliberate is None else rate(self.deliberate.step != NEVER)

    @cached_property
    def undecided_rate(self) -> Estimate | None:
        """Share of runs of which that is neither proven nor ruled out."""
        return None if self.deliberate is None else rate(self.deliberate.undecided)

    @cached_property
    def length(self) -> Estimate:
        """Steps until the process ended, or all of them."""
        return estimate(self.outcome.length.astype(np.float64))

    @cached_property
    def truncation(self) -> tuple[float, list[float]]:
        """At most how far longer runs could move the mean reward, and each mean cost.

        A run that has not ended can still earn at most ``γ^steps max|R| / (1 − γ)``; a cost that is not discounted may
        add up for ever.
        """
        going_on, model = 1.0 - float(self.outcome.ended.mean()), self.model
        if not going_on:
            return 0.0, [0.0] * model.n_costs
        tail = going_on * model.discount**self.steps * float(np.abs(model.reward).max())
        costs = going_on * model.cost_discount**self.steps * model.most_spent
        endless = model.discount == 1 and np.isinf(model.most_steps)
        return (np.inf if tail else 0.0) if endless else tail / model.fade, costs.tolist()

    @property
    def cut_short(self) -> bool:
        """Whether longer runs could move the mean reward by more than a tenth of it."""
        return self.truncation[0] > _NOTEWORTHY * abs(self.reward.mean)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per run, of plain numbers."""
        o = self.outcome
        names = [str(name) for name in self.model.costs]
        own = [f"{name}{ending}" for name in names for ending in ("", "_undiscounted", "_spent")]
        if len({*_COLUMNS, *own}) < len(_COLUMNS) + len(own):
            names = [f"cost {k}: {name}" for k, name in enumerate(names)]  # labels that are columns already
        for run in range(self.runs):
            row: dict[str, Any] = {"run": run, "reward": float(o.reward[run])}
            for k, name in enumerate(names):
                row[name] = float(o.cost[run, k])
                row[f"{name}_undiscounted"] = float(o.undiscounted[run, k])
                row[f"{name}_spent"] = float(o.spent[run, k])
            row["violation_step"] = _step(o.violation[run])
            if self.deliberate is not None:
                row["deliberate_step"] = _step(self.deliberate.step[run])
                row["undecided"] = bool(self.deliberate.undecided[run])
            yield row | {"length": int(o.length[run]), "ended": bool(o.ended[run])}

    def summary(self) -> dict[str, Any]:
        """All estimates as plain numbers, ready for JSON; what is not finite is None."""
        reward_tail, cost_tail = self.truncation
        return {
            "runs": self.runs,
            "requested": self.requested,
            "interrupted": self.runs < self.requested,
            "steps": self.steps,
            "seed": self.seed,
            "violation_rate": plain(self.violation_rate),
            "violation_step": overspending.plain(self.violation_step),
            "overrun_rate": plain(self.overrun_rate),
            "deliberate": self._deliberate(),
            "reward": plain(self.reward) | {"truncation": finite(reward_tail)},
            "costs": [
                {
                    "name": str(name),
                    "budget": finite(float(self.model.budget[k])),
                    **plain(self.cost[k]),
                    "truncation": finite(cost_tail[k]),
                    "undiscounted": plain(self.undiscounted[k]),
                    "overrun": plain(self.overrun[k]),
                    "spent": plain(self.spent[k]),
                    "overspent": plain(self.overspent[k]),
                }
                for k, name in enumerate(self.model.costs)
            ],
            "length": plain(self.length),
            "ended": float(self.outcome.ended.mean()),
        }

    def _deliberate(self) -> dict[str, Any] | None:
        if self.deliberate is None or self.deliberate_rate is None or self.undecided_rate is None:
            return None
        return {
            "rate": plain(self.deliberate_rate),
            "undecided": plain(self.undecided_rate),
            "step": overspending.plain(first_step(self.deliberate.step)),
        }

    def __repr__(self) -> str:
        name = self.model.title or "model"
        costs = ", ".join(
            f"{label} {c.mean:.4g} ± {c.se:.2g}" for label, c in zip(self.model.costs, self.cost, strict=True)
        )
        cut = ""
        if self.cut_short:
            tail = self.truncation[0]
            added = f"{tail:.4g}" if np.isfinite(tail) else "any amount"
            cut = f"; runs that had not ended after {self.steps} steps could still add {added}"
        return (
            f"Simulation of {name}: {self.runs} runs, reward {self.reward.mean:.4g} ± {self.reward.se:.2g}, "
            f"{costs + ', ' if costs else ''}violation rate {self.violation_rate.mean:.3f}{cut}"
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
    deliberate: bool = False,
) -> Simulation:
    """Run a policy `runs` times for at most `steps` steps each.

    The same seed gives the same rows whatever the number of `workers` (processes). `progress` is called with
    the number of runs done. `paths` keeps the states of each run, as ``outcome.path``. `deliberate` counts the runs
    that overspend although they need not, as `deliberate_rate`; runs are then taken step by step, which is slower.
    An interrupt (Ctrl-C) returns the runs that were finished by then, if any.

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
    check_policy(policy)
    base = BaseBounds(model) if deliberate else None
    size = random_streams.block_runs(steps)
    n_blocks = math.ceil(runs / size)
    blocks = (_Block(seed, i, min(size, runs - i * size), steps, paths) for i in range(n_blocks))
    done: list[_Done] = []
    finished = 0
    try:
        for part in _run_all(_Task(model, policy, base), blocks, n_blocks, workers):
            done.append(part)
            finished += len(part.outcome.reward)
            if progress is not None:
                progress(finished)
    except KeyboardInterrupt:
        if not done:
            raise
    joined = Outcome(*(np.concatenate(parts) for parts in zip(*(part.outcome for part in done), strict=True)))
    charge(getattr(policy, "step_work", STEP_WORK) * int(joined.length.sum()))
    judged = [part.deliberate for part in done if part.deliberate is not None]
    verdicts = Deliberate(*map(np.concatenate, zip(*judged, strict=True))) if judged else None
    return Simulation(model, steps, seed, runs, joined, verdicts)


class _Task(NamedTuple):
    """The policy to run, and on what."""

    model: CPOMDP
    policy: Policy[Any]
    base: BaseBounds | None  # on the least budget, to tell deliberate steps by


class _Done(NamedTuple):
    """A block that was run."""

    outcome: Outcome
    deliberate: Deliberate | None


class _Block(NamedTuple):
    """Consecutive runs that draw from one child of the seed."""

    seed: int
    number: int
    runs: int  # to do; fewer in the last block
    steps: int
    paths: bool  # whether to keep the states


def _run_all(task: _Task, blocks: Iterable[_Block], n_blocks: int, workers: int) -> Iterator[_Done]:
    workers = min(workers, n_blocks)
    if workers == 1:
        yield from (_run_block(task, block) for block in blocks)
        return
    share = max(1, min(_BLOCKS_PER_TASK, n_blocks // (4 * workers)))
    context = multiprocessing.get_context()
    stop = context.Event()
    start = (task, stop, os.getpid())
    with ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=start) as pool:
        queue: deque[Future[list[_Done]]] = deque()
        try:
            blocks = iter(blocks)
            while some := list(islice(blocks, share)):
                queue.append(pool.submit(_work, some))
                if len(queue) >= 4 * workers:
                    yield from queue.popleft().result()
            while queue:
                yield from queue.popleft().result()
        finally:
            stop.set()  # after an interrupt: what is queued is dropped, what runs ends with the run in hand
            pool.shutdown(cancel_futures=True)


_worker: list[Any] = []  # task and stop sign of a worker process


def _start_worker(task: _Task, stop: Any, parent: int) -> None:
    _processes.serve(parent)
    _worker[:] = [task, stop]


def _work(blocks: Sequence[_Block]) -> list[_Done]:
    task, stop = _worker
    return [_run_block(task, block, stop.is_set) for block in blocks if not stop.is_set()]


def _run_block(task: _Task, block: _Block, stopped: Callable[[], bool] = lambda: False) -> _Done:
    model, policy, base = task
    u_start, u, policy_rng = random_streams.block(block.seed, block.number, block.steps)
    states = [policy.initial(policy_rng) for _ in range(block.runs)]
    outcome = empty_outcome(block.runs, model.n_costs, block.steps + 1 if block.paths else 0)
    start = beliefs.initial(model)
    judge = None if base is None else Judge(base)  # one for each block, so that workers change nothing
    verdicts = Deliberate(np.full(block.runs, NEVER), np.zeros(block.runs, dtype=np.bool_))
    for batch in batches(policy, states, model):
        if batch.program is None or judge is not None:
            for run in map(int, batch.runs):
                if stopped():
                    break  # nobody waits for this block any more
                steps: Iterable[Step] = follow(model, policy, states[run], float(u_start[run]), u[:, run])
                if judge is not None:
                    steps = list(steps)
                    verdicts.step[run], verdicts.undecided[run] = judge.verdict(steps)
                _count(model, steps, run, outcome)
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
                _NOT_KEPT,
            )
            if stuck != NEVER:
                steps = follow(model, policy, states[stuck], float(u_start[stuck]), u[:, stuck])
                _count(model, steps, stuck, outcome)  # tells what is wrong
    return _Done(outcome, None if judge is None else verdicts)


def _count(model: CPOMDP, steps: Iterable[Step], run: int, out: Outcome) -> None:
    """One run through the policy protocol: what `run_batch` does, step by step and to the last bit."""
    for step in steps:
        if out.path.size:
            out.path[run, step.time] = step.state
        if out.violation[run] == NEVER and (step.spent > model.spending_limit).any():
            out.violation[run] = step.time - 1
        if step.action is not None:
            if out.violation[run] == NEVER and (step.paid > model.arrays.step_limit).any():
                out.violation[run] = step.time
            out.cost[run] += step.cost_weight * model.cost[:, step.state, step.action]
            out.undiscounted[run] += model.cost[:, step.state, step.action]
            if not model.terminal[step.state]:
                out.length[run] = step.time + 1
    out.reward[run], out.spent[run], out.ended[run] = step.reward, step.spent, model.terminal[step.state]


def empty_outcome(runs: int, n_costs: int, states: int) -> Outcome:
    """Room for runs, with a path of so many states each."""
    return Outcome(
        reward=np.zeros(runs),
        cost=np.zeros((runs, n_costs)),
        undiscounted=np.zeros((runs, n_costs)),
        spent=np.zeros((runs, n_costs)),
        violation=np.full(runs, NEVER),
        length=np.zeros(runs, dtype=np.int64),
        ended=np.zeros(runs, dtype=np.bool_),
        path=np.full((runs, states), ENDED),
    )


def _step(step: int) -> int | None:
    """A step of a run, None for NEVER."""
    return None if step == NEVER else int(step)
