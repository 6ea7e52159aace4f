"""The loop around searches: slices of time, turns where there are several, bounds on record, and what ends it.

An *engine* is a search that advances slice by slice and has bounds at any time. The least upper bound of all engines
counts, and the greatest lower one.

Each engine has a first turn. Then the next turn goes to the engine that has used the least time. Time counts three
times for an engine whose last turn improved no bound on record. An engine is behind another one whose bounds are no
worse on both sides and better on one. It is dropped after two turns in a row. A search whose gap is twice as wide is
dropped at once, and so is a relaxation that is far behind. So a wrong guess about the model costs a part of the time
and never the answer. An engine is set up when its first turn comes: a model that the first one solves at once never
waits for the others.

A *pilot* comes first: a search with a short set-up and one short turn. It solves an easy model before the others begin
set-ups that take a share of the time limit.

A *relaxation* is an engine without a policy. It bounds the optimum from above, and some bound it from below. When only
relaxations are left, the search is over. A search is optimal when the policy of a search, and not only a bound, is
within epsilon of the upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..deadline import TimeUpError
from .effort import Effort
from .result import INFEASIBLE, INTERRUPTED, MEMORY_LIMIT, OPTIMAL, TIME_LIMIT, TracePoint

_TURN, _SHORT_TURN = 0.1, 0.025  # share of the time limit that a turn takes, or one of a relaxation that is behind,
_PILOT_TURN = 0.03  # share of the time limit that the pilot's turn takes
_SHORT_LIMIT = 10.0  # seconds: with a shorter time limit no set-up takes long, and a pilot is not worth its turn
_WORK = 100_000_000  # or elementary steps of the first turn without a limit; later ones are twice as long each
_BEHIND = 2  # turns in a row after which an engine that is behind on both sides is dropped
_HOPELESS = 2.0  # times the gap of one that is ahead: with more it is dropped at once
_IDLE = 3.0  # times that what an engine has used counts if its last turn improved nothing
_ALIKE = 1e-3  # of the gap: bounds that differ by less are equally good
_FAR = 0.15  # of the gap by which a relaxation is far behind
_FOR_RELAXATIONS = 0.3  # share of the memory


class Engine(Protocol):
    """A search that advances slice by slice; its bounds are rounded outward, and hold at any time."""

    @property
    def name(self) -> str:
        """The search in words."""

    @property
    def lower(self) -> float:
        """Lower bound on the optimum; −inf while nothing is known to keep the budget."""

    @property
    def upper(self) -> float:
        """Upper bound on the optimum; −inf if nothing can keep the budget."""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Trials, beliefs and plans."""

    @property
    def work(self) -> int:
        """Work done, in elementary steps."""

    @property
    def memory(self) -> int:
        """Bytes that beliefs, bounds and plans take."""

    def limit_memory(self, limit: float) -> None:
        """Take no more than so many bytes from now on."""

    def advance(self) -> str | None:
        """Search for a slice of time; return a status if nothing is left to do."""


@dataclass(eq=False)
class _Turn:
    """An engine in the race."""

    make: Callable[[], Engine]
    is_relaxation: bool = False
    is_pilot: bool = False
    engine: Engine | None = None
    used: float = 0.0  # time or work of its turns so far
    weight: float = 1.0  # times that this counts
    behind: int = 0  # turns in a row after which it was behind
    ended: str | None = None  # what ended it


class Driver:
    """Engines that take turns on one clock.

    Parameters
    ----------
    makers : set up the engines, in the order of their first turns
    trace : bounds that are known before; the driver adds to it
    relaxations : set up the relaxations, which take their first turns after the first engine's
    pilot : set up the pilot; there is none without a time limit, or with a short one
    """

    def __init__(
        self,
        makers: Sequence[Callable[[], Engine]],
        effort: Effort,
        trace: list[TracePoint],
        relaxations: Sequence[Callable[[], Engine]] = (),
        pilot: Callable[[], Engine] | None = None,
    ) -> None:
        self._effort, self._clock, self.trace = effort, effort.clock, trace
        self._turns = [_Turn(make) for make in makers]
        self._turns[1:1] = [_Turn(make, is_relaxation=True) for make in relaxations]
        if pilot is not None and (self._clock.time_limit or 0.0) >= _SHORT_LIMIT:
            self._turns.insert(0, _Turn(pilot, is_pilot=True))
        self._racing = list(self._turns)  # in the order of their first turns
        self._now: _Turn | None = None  # whose turn it is
        self._until: float | None = None  # time or work at which the turn ends; None: it has not begun
        self._before: TracePoint | None = None  # bounds on record before the turn
        self._attained = trace[-1].lower if trace else -np.inf  # the best lower bound that a policy is known for
        self._work = _WORK

    @property
    def engines(self) -> list[Engine]:
        """The engines that were set up, those that have ended included."""
        return [turn.engine for turn in self._turns if turn.engine is not None]

    def add(self, make: Callable[[], Engine]) -> None:
        """Set up one more engine, if time and memory allow it."""
        turn = _Turn(make)
        self._turns.append(turn)
        with suppress(TimeUpError, MemoryError):
            turn.engine = self._set_up(turn)
            self._limit_memory()

    def run(self, share: float = 1.0) -> str:
        """Advance until the gap is closed, something ends the search, or a share of the time is used; return what.

        An interrupt of the first set-up is raised, as there is nothing to show yet.
        """
        try:
            return self._run(share)
        except KeyboardInterrupt:
            if not self.engines:
                raise
            return INTERRUPTED

    def _run(self, share: float) -> str:
        while not (self.trace and self.trace[-1].upper - self._attained <= self._effort.epsilon):
            if any(turn.engine is not None and turn.engine.upper == -float("inf") for turn in self._turns):
                return INFEASIBLE
            if all(turn.is_relaxation for turn in self._racing):
                return self._last_status()
            if self.trace and self._clock.share_used(share):
                return TIME_LIMIT
            if self._now is None:
                self._now = min(self._racing, key=lambda turn: turn.weight * turn.used)
                self._before = self.trace[-1] if self.trace else None
            self._advance(self._now)
        return OPTIMAL

    def _last_status(self) -> str:
        """The status of a search in which every engine has ended: the first one's counts for most."""
        searches = [turn for turn in self._turns if not turn.is_relaxation and not turn.is_pilot]
        return next(turn.ended for turn in searches if turn.ended is not None)

    @property
    def _alike(self) -> float:
        """Bounds that differ by so much are as good as each other."""
        gap = self.trace[-1].upper - self.trace[-1].lower
        return _ALIKE * gap if np.isfinite(gap) else 0.0

    @property
    def _has_improved(self) -> bool:
        """True if the turn has improved a bound on record."""
        before, now = self._before, self.trace[-1]
        return before is None or now.lower > before.lower + self._alike or now.upper < before.upper - self._alike

    def _leaders(self, engine: Engine) -> list[Engine]:
        """The engines that an engine is behind; the pilot had a head start."""
        others = [turn.engine for turn in self._turns if turn.engine is not None and not turn.is_pilot]
        return [other for other in others if _is_behind(engine, other, self._alike)]

    def _advance(self, turn: _Turn) -> None:
        """One slice of an engine's turn, or its set-up."""
        before = self._spent(turn)
        try:
            if turn.engine is None:
                turn.engine = self._set_up(turn)
                self._limit_memory()
            else:
                turn.ended = turn.engine.advance()
        except MemoryError:
            if turn.engine is None and not self.engines:
                raise
            turn.ended = MEMORY_LIMIT
        except TimeUpError:
            if not self.engines:
                raise
            turn.ended = TIME_LIMIT
        self._note()
        turn.used += self._spent(turn) - before
        if turn.ended is not None or (len(self._racing) > 1 and self._is_over(turn)):
            turn.weight = 1.0 if self._has_improved else _IDLE
            self._now = self._until = None
            self._compare(turn)
            if turn.ended is not None:
                self._racing.remove(turn)
            self._limit_memory()

    def _spent(self, turn: _Turn) -> float:
        """Seconds so far; without a time limit, the work of an engine."""
        if self._clock.time_limit is not None:
            return self._clock.elapsed
        return 0.0 if turn.engine is None else turn.engine.work

    def _set_up(self, turn: _Turn) -> Engine:
        if not self.engines and not self.trace:
            engine = turn.make()
            self._clock.ready()
            return engine
        with self._clock.setting_up_again():
            return turn.make()

    def _is_over(self, turn: _Turn) -> bool:
        """True if the engine's turn is over; the first call of a turn begins it."""
        assert turn.engine is not None
        limit, now = self._clock.time_limit, self._spent(turn)
        if self._until is None:
            is_short = turn.is_relaxation and turn.engine.upper > self.trace[-1].upper
            share = _PILOT_TURN if turn.is_pilot else _SHORT_TURN if is_short else _TURN
            self._until = now + (self._work if limit is None else share * limit)
        over = now >= self._until
        if over and limit is None:
            self._work *= 2
        return over

    def _compare(self, turn: _Turn) -> None:
        """Drop the engine whose turn is over if others were ahead of it on both sides for some turns.

        A relaxation that is far behind has had its only turn, and its memory is free. A search that was dropped stays,
        for its plans may still serve.
        """
        if turn.is_pilot:
            turn.ended = turn.ended or TIME_LIMIT
            return
        engine = turn.engine
        leaders = [] if engine is None else self._leaders(engine)
        turn.behind = turn.behind + 1 if leaders else 0
        if not turn.is_relaxation and any(_gap(engine) > _HOPELESS * _gap(leader) for leader in leaders):
            turn.behind = _BEHIND
        is_far = (
            turn.is_relaxation
            and engine is not None
            and engine.upper - self.trace[-1].upper > _FAR * (self.trace[-1].upper - self.trace[-1].lower)
        )
        if turn.ended is None and (turn.behind >= _BEHIND or is_far):
            turn.ended = TIME_LIMIT
            if turn.is_relaxation:
                turn.engine = None

    def _limit_memory(self) -> None:
        """Share the memory that ended engines leave among those in the race; relaxations have a smaller part."""
        ended = [turn.engine for turn in self._turns if turn.ended is not None and turn.engine is not None]
        left = self._effort.memory_limit - sum(engine.memory for engine in ended)
        searches, relaxations = (
            [turn.engine for turn in self._racing if turn.engine is not None and turn.is_relaxation == kind]
            for kind in (False, True)
        )
        for_relaxations = _FOR_RELAXATIONS if relaxations else 0.0
        for engine in searches:
            engine.limit_memory((1 - for_relaxations) * left / len(searches))
        for engine in relaxations:
            engine.limit_memory(for_relaxations * left / len(relaxations))

    def _note(self) -> None:
        """Put the bounds on record; those that held before still do."""
        engines = self.engines
        if not engines:
            return
        counts = [sum(engine.counts[i] for engine in engines) for i in range(3)]
        searches = [turn.engine.lower for turn in self._turns if turn.engine is not None and not turn.is_relaxation]
        self._attained = max(self._attained, *searches)
        # While no policy is known to keep the budget, it is no use to know that there is one.
        lower = -np.inf if self._attained == -np.inf else max(engine.lower for engine in engines)
        upper = min(engine.upper for engine in engines)
        if not self.trace:
            self.trace.append(self._effort.first(TracePoint(0.0, lower, upper, *counts)))
            return
        last = self.trace[-1]
        point = TracePoint(
            self._clock.seconds,
            max(lower, last.lower),
            min(upper, last.upper),
            *(max(now, before) for now, before in zip(counts, last[3:], strict=True)),
        )
        self.trace.append(point)
        if self._effort.progress is not None:
            self._effort.progress(point)


def _gap(engine: Engine | None) -> float:
    return 0.0 if engine is None else engine.upper - engine.lower


def _is_behind(engine: Engine, other: Engine, alike: float) -> bool:
    """True if an engine's bounds are no better than another's on both sides, and worse on one."""
    is_no_better = engine.lower <= other.lower + alike and engine.upper >= other.upper - alike
    return is_no_better and (engine.lower < other.lower - alike or engine.upper > other.upper + alike)
