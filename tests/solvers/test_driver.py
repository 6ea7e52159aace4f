"""The driver of searches that take turns, with engines that follow a script: nothing here looks at the time of day."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from rcpomdp.deadline import TimeUpError
from rcpomdp.solvers import TracePoint, driver
from rcpomdp.solvers.clock import Clock
from rcpomdp.solvers.driver import Driver
from rcpomdp.solvers.effort import Effort

SLICE = 20_000_000  # elementary steps of a scripted slice: five make the first turn
NOTHING_KNOWN = (-np.inf, np.inf)


class ManualClock(Clock):
    """A clock that goes on only when it is told to."""

    def __init__(self, time_limit: float | None = None) -> None:
        self.time = 0.0
        super().__init__(time_limit)

    def now(self) -> float:  # type: ignore[override]  # of this clock alone
        return self.time


class Scripted:
    """An engine whose bounds follow a script; the last ones stay."""

    def __init__(
        self,
        name: str,
        bounds: Iterable[tuple[float, float]],
        *,
        calls: list[str] | None = None,
        ends: str | BaseException | None = None,
        clock: ManualClock | None = None,
        memory: int = 0,
    ) -> None:
        self.name, self.memory, self.memory_limit = name, memory, np.inf
        self._calls, self._ends, self._clock = calls, ends, clock
        (self.lower, self.upper), *self._rest = bounds
        self.work = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.work // SLICE, 10, 100

    def limit_memory(self, limit: float) -> None:
        self.memory_limit = limit

    def advance(self) -> str | None:
        self.work += SLICE
        if self._calls is not None:
            self._calls.append(self.name)
        if self._clock is not None:
            self._clock.time += 1.0
        if self._rest:
            self.lower, self.upper = self._rest.pop(0)
        if not self._rest and isinstance(self._ends, BaseException):
            raise self._ends
        return None if self._rest else self._ends  # type: ignore[return-value]  # no exception any more


def drive(*engines: Scripted | Callable[[], Any], clock: Clock | None = None, **more: Any) -> Driver:
    effort = Effort(0.1, clock or ManualClock(), **more)
    makers = [(lambda engine=engine: engine) if isinstance(engine, Scripted) else engine for engine in engines]
    return Driver(makers, effort, [])


def apart(n: int, upper: float = 10.0) -> list[tuple[float, float]]:
    """Bounds that do not meet for n slices, and then do."""
    return [(0.0, upper)] * (n + 1) + [(upper, upper)]


def fail(error: BaseException) -> Callable[[], Any]:
    def make() -> Any:
        raise error

    return make


# Turns


def test_turns_alternate_and_grow_without_a_time_limit() -> None:
    calls: list[str] = []
    a, b = Scripted("a", apart(100), calls=calls), Scripted("b", apart(18), calls=calls)
    assert drive(a, b).run() == "optimal"
    # Each turn is twice as long as the last one; after a set-up or a first slice it begins.
    assert "".join(calls) == 5 * "a" + 10 * "b" + 21 * "a" + 9 * "b"


def test_with_a_time_limit_each_turn_is_a_tenth_of_it() -> None:
    calls: list[str] = []
    clock = ManualClock(30.0)
    a, b = (Scripted(name, apart(10), calls=calls, clock=clock) for name in "ab")
    assert drive(a, b, clock=clock).run() == "optimal"
    assert "".join(calls) == 3 * "a" + 3 * "b" + 4 * "a" + 4 * "b" + 4 * "a"


def test_a_search_alone_has_no_turns() -> None:
    calls: list[str] = []
    assert drive(Scripted("a", apart(7), calls=calls)).run() == "optimal"
    assert len(calls) == 8


def test_the_second_search_is_not_set_up_if_the_first_one_needs_no_turn() -> None:
    made = drive(Scripted("a", apart(2)), fail(AssertionError("not needed")))
    assert made.run() == "optimal"
    assert [engine.name for engine in made.engines] == ["a"]


def test_a_pilot_solves_an_easy_model_before_any_set_up() -> None:
    clock = ManualClock(100.0)
    pilot = Scripted("p", apart(2), clock=clock)
    made = Driver([fail(AssertionError("not needed"))], Effort(0.1, clock), [], pilot=lambda: pilot)
    assert made.run() == "optimal"
    assert [engine.name for engine in made.engines] == ["p"]


def test_a_pilot_has_one_short_turn_and_drops_nobody() -> None:
    calls: list[str] = []
    clock = ManualClock(100.0)
    pilot = Scripted("p", [(4.0, 5.0)], calls=calls, clock=clock)
    a, b = (Scripted(name, [(0.0, 10.0)], calls=calls, clock=clock) for name in "ab")
    made = Driver([lambda: a, lambda: b], Effort(0.1, clock), [], pilot=lambda: pilot)
    assert made.run() == "time limit"
    assert "".join(calls).startswith("pppa")  # 3 % of the time
    assert calls.count("p") == 3
    assert calls.count("a") == pytest.approx(calls.count("b"), abs=11)
    assert (made.trace[-1].lower, made.trace[-1].upper) == (4.0, 5.0)
    assert [engine.name for engine in made.engines] == ["p", "a", "b"]  # its plans may still serve


@pytest.mark.parametrize("limit", [None, 5.0])
def test_without_a_time_limit_or_with_a_short_one_there_is_no_pilot(limit: float | None) -> None:
    effort = Effort(0.1, ManualClock(limit))
    assert Driver([lambda: Scripted("a", apart(2))], effort, [], pilot=fail(AssertionError())).run() == "optimal"


# Bounds


def test_a_lower_bound_without_a_policy_ends_no_search() -> None:
    clock = ManualClock(100.0)
    search = Scripted("s", [(-np.inf, 9.0)] * 3 + [(1.0, 9.0)], clock=clock)
    relaxed = Scripted("r", [(5.0, 5.0)], clock=clock)
    made = Driver([lambda: search], Effort(0.1, clock), [], [lambda: relaxed])
    assert made.run() == "time limit"
    bounds = [(point.lower, point.upper) for point in made.trace]
    assert bounds[-1] == (5.0, 5.0)
    assert (-np.inf, 9.0) in bounds  # no policy was known yet
    assert all(lower in (-np.inf, 1.0, 5.0) for lower, _ in bounds)


def test_the_best_bound_of_each_side_counts() -> None:
    a = Scripted("a", [(0.0, 10.0)] * 3 + [(5.0, 10.0)])
    b = Scripted("b", [(0.0, 10.0)] * 3 + [(0.0, 5.05)])
    made = drive(a, b)
    assert made.run() == "optimal"
    assert (made.trace[-1].lower, made.trace[-1].upper) == (5.0, 5.05)


def test_bounds_on_record_never_get_worse_and_counts_never_fall() -> None:
    a = Scripted("a", [(0.0, 10.0), (2.0, 7.0), (1.0, 8.0), (6.0, 6.0)])
    made = drive(a)
    made.run()
    assert [(point.lower, point.upper) for point in made.trace] == [(0.0, 10.0), (2.0, 7.0), (2.0, 7.0), (6.0, 6.0)]
    assert [point.trials for point in made.trace] == [0, 1, 2, 3]


def test_counts_are_those_of_all_searches() -> None:
    made = drive(Scripted("a", apart(100)), Scripted("b", apart(2)))
    made.run()
    assert made.trace[-1][3:] == (8, 20, 200)


def test_known_bounds_are_where_the_record_begins() -> None:
    made = drive(Scripted("a", apart(1)), ceiling=7.0)
    made.run()
    assert made.trace[0].upper == 7.0
    before = TracePoint(3.0, 9.95, 10.0, 1, 2, 3)
    assert Driver([fail(AssertionError("not needed"))], Effort(0.1, ManualClock()), [before]).run() == "optimal"


def test_progress_is_told_of_every_slice() -> None:
    told: list[TracePoint] = []
    made = drive(Scripted("a", apart(3)), progress=told.append)
    made.run()
    assert told == made.trace[1:]


# Who drops out


def test_a_search_that_is_behind_on_both_sides_is_dropped() -> None:
    calls: list[str] = []
    ahead = Scripted("a", [(1.0, 9.0)] * 400 + [(9.0, 9.0)], calls=calls)
    behind = Scripted("b", [(0.0, 10.0)], calls=calls, memory=10**6)
    made = drive(ahead, behind, memory_limit=4e6)
    assert made.run() == "optimal"
    assert [engine.name for engine in made.engines] == ["a", "b"]  # its plans may still serve
    turns = "".join(calls).rstrip("a")
    assert turns.endswith("b")
    assert turns.count("ab") == 2  # dropped after two turns of each
    assert ahead.memory_limit == 3e6


def test_a_search_that_leads_on_one_side_stays() -> None:
    calls: list[str] = []
    a = Scripted("a", [(1.0, 10.0)], calls=calls)
    b = Scripted("b", [(0.0, 9.0)] * 150 + [(9.0, 9.0)], calls=calls)
    made = drive(a, b)
    assert made.run() == "optimal"
    assert [engine.name for engine in made.engines] == ["a", "b"]
    assert "".join(calls).count("ab") == 3


def test_an_engine_that_improves_nothing_gets_less_of_the_time() -> None:
    calls: list[str] = []
    clock = ManualClock(1000.0)
    steps = [0.002 * i for i in range(1000)]
    bounds = {"a": [(1 + x, 9.0) for x in steps], "b": [(0.0, 8 - x) for x in steps], "c": [(0.5, 8.5)]}
    made = drive(*(Scripted(name, bounds[name], calls=calls, clock=clock) for name in "abc"), clock=clock)
    assert made.run() == "time limit"
    assert calls.count("a") == pytest.approx(calls.count("b"), abs=101)
    assert calls.count("c") < 0.6 * calls.count("a")


def test_a_search_that_is_no_better_on_one_side_and_worse_on_the_other_is_dropped() -> None:
    calls: list[str] = []
    ahead = Scripted("a", [(1.0, 9.0)] * 400 + [(9.0, 9.0)], calls=calls)
    behind = Scripted("b", [(1.0 + 1e-9, 10.0)], calls=calls)
    assert drive(ahead, behind).run() == "optimal"
    assert "".join(calls).rstrip("a").count("ab") == 2


def turns_of_a_relaxation(upper: float) -> int:
    """The slices that a relaxation has in 100 seconds beside a search at (1, 9); a short turn is 2.5 seconds."""
    calls: list[str] = []
    clock = ManualClock(100.0)
    search = Scripted("s", [(1.0, 9.0)], calls=calls, clock=clock)
    relaxed = Scripted("r", [(-np.inf, upper)], calls=calls, clock=clock)
    made = Driver([lambda: search], Effort(0.1, clock), [], [lambda: relaxed])
    assert made.run() == "time limit"
    return calls.count("r")


def test_a_relaxation_that_is_far_behind_has_one_turn_and_one_that_is_near_has_two() -> None:
    assert turns_of_a_relaxation(9.5) > turns_of_a_relaxation(11.0) > 0


def test_equal_bounds_drop_nobody() -> None:
    made = drive(Scripted("a", [(0.0, 10.0)]), Scripted("b", apart(300)))
    assert made.run() == "optimal"
    assert len(made.engines) == 2


def test_bounds_of_a_dropped_search_stay_on_record() -> None:
    ahead = Scripted("a", [(1.0, 9.0)] * 100 + [(2.0, 9.0), (9.0, 9.0)])
    behind = Scripted("b", [(0.0, 8.5)] * 3 + [(0.0, 10.0)])  # what held before still does
    made = drive(ahead, behind)
    made.run()
    assert made.trace[-1].upper == 8.5


# What ends a search


def test_infeasible_ends_it_whoever_proves_it() -> None:
    made = drive(Scripted("a", [NOTHING_KNOWN]), Scripted("b", [NOTHING_KNOWN] * 3 + [(-np.inf, -np.inf)]))
    assert made.run() == "infeasible"
    assert made.trace[-1].upper == -np.inf


@pytest.mark.parametrize(
    ("error", "status"), [(MemoryError(), "memory limit"), (TimeUpError(), "time limit")], ids=["memory", "time"]
)
@pytest.mark.parametrize("when", ["set-up", "search"])
def test_a_second_search_that_fails_leaves_the_first_one_as_it_is(when: str, error: BaseException, status: str) -> None:
    first = Scripted("a", [(0.0, 10.0)] * 60 + [(3.0, 10.0)], ends="stalled")
    second = fail(error) if when == "set-up" else Scripted("b", [(1.0, 10.0)] * 3, ends=error)
    made = drive(first, second)
    assert made.run() == "stalled"  # the first one's, not what became of the second
    assert (made.trace[-1].lower, made.trace[-1].upper) == (3.0, 10.0)
    made = drive(first, second)
    first._ends = status
    assert made.run() == status


@pytest.mark.parametrize("error", [MemoryError, TimeUpError])
def test_a_first_search_that_cannot_be_set_up_is_an_error(error: type[BaseException]) -> None:
    with pytest.raises(error):
        drive(fail(error()), Scripted("b", apart(1))).run()


def test_the_others_go_on_where_the_first_search_has_ended() -> None:
    a = Scripted("a", [(0.0, 10.0)] * 2, ends="stalled")
    assert drive(a, Scripted("b", apart(30))).run() == "optimal"


def test_an_interrupt_of_the_first_set_up_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        drive(fail(KeyboardInterrupt())).run()


def test_an_interrupt_keeps_the_bounds() -> None:
    made = drive(Scripted("a", [(0.0, 10.0), (1.0, 9.0)], ends=KeyboardInterrupt()))
    assert made.run() == "interrupted"
    assert (made.engines[0].lower, made.engines[0].upper) == (1.0, 9.0)


def test_a_share_of_the_time_ends_it_and_the_rest_goes_on_from_there() -> None:
    clock = ManualClock(20.0)
    calls: list[str] = []
    made = drive(Scripted("a", [(0.0, 10.0)], calls=calls, clock=clock), clock=clock)
    assert made.run(0.5) == "time limit"
    assert len(calls) == 11  # half of the time, and what was begun before that
    assert made.run() == "time limit"
    assert len(calls) == 21


def test_the_set_up_of_the_first_search_alone_is_set_up_time() -> None:
    clock = ManualClock(100.0)

    def slow(engine: Scripted) -> Callable[[], Scripted]:
        def make() -> Scripted:
            clock.time += 4.0
            return engine

        return make

    made = drive(slow(Scripted("a", apart(9), clock=clock)), slow(Scripted("b", apart(90), clock=clock)), clock=clock)
    made.run()
    assert clock.setup_seconds == 4.0
    assert [point.seconds for point in made.trace] == sorted(point.seconds for point in made.trace)
    known = [TracePoint(1.0, 0.0, 10.0, 1, 1, 1)]
    Driver([slow(Scripted("a", apart(1)))], Effort(0.1, clock), known).run()
    assert clock.setup_seconds == 4.0  # a search from known bounds is no longer the set-up
    assert [point.seconds for point in known] == sorted(point.seconds for point in known)


# Memory


def test_searches_share_the_memory() -> None:
    a, b = Scripted("a", apart(100)), Scripted("b", apart(7))
    made = drive(a, b, memory_limit=8e9)
    made.run()
    assert (a.memory_limit, b.memory_limit) == (4e9, 4e9)


def test_memory_of_a_search_that_has_ended_is_not_given_away() -> None:
    a = Scripted("a", [(0.0, 10.0)] * 2, ends="memory limit", memory=3 * 10**9)
    b = Scripted("b", apart(30))
    made = drive(a, b, memory_limit=8e9)
    made.run()
    assert b.memory_limit == 5e9


def test_one_more_search_is_added_if_there_is_room_for_it() -> None:
    made = drive(Scripted("a", [NOTHING_KNOWN, (-np.inf, -np.inf)]))
    assert made.run() == "infeasible"
    made.add(fail(MemoryError()))
    made.add(fail(TimeUpError()))
    made.add(lambda: Scripted("b", [NOTHING_KNOWN]))
    assert [engine.name for engine in made.engines] == ["a", "b"]


def test_constants_are_what_these_tests_take_them_for() -> None:
    assert (driver._WORK, driver._TURN) == (5 * SLICE, 0.1)
