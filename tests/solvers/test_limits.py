"""Limits of time and memory, and interrupts: each solver keeps to them from the call on, and has something to show."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.bounds import blind as blind_bounds
from rcpomdp.bounds import fib
from rcpomdp.deadline import TimeUpError, check, hurry, within
from rcpomdp.solvers import SOLVERS, clock, early
from rcpomdp.solvers.arcs.few_beliefs import FewBeliefs, few_beliefs
from rcpomdp.solvers.arcs.online import OnlinePolicy
from rcpomdp.solvers.clock import Clock
from rcpomdp.testing import form, truth
from rcpomdp.testing.enclosure import enclosed_at_once
from work import AMPLE

CASES = [(name, {}) for name in SOLVERS] + [
    ("arcs", {"variant": "paper"}),
    ("arcs", {"k": 3}),
    ("arcs", {"switches": {}}),
]
IDS = ["-".join([name, *map(str, options)]) for name, options in CASES]
PROBLEMS = ("tiger", "crs-4-4", "hallway")


def check_sound(model: rc.CPOMDP, result: Any, epsilon: float = 1e-3) -> None:
    """The result is whole, and its bounds hold."""
    form.is_well_formed(model, result)
    known = enclosed_at_once(model)
    truth.has_true_bounds(model, result, epsilon, known._replace(known=-np.inf) if result.solver == "sarsop" else known)


class Looks:
    """A clock that shows up to 0.9 s for so many looks, then jumps by a second at each one, and counts those."""

    def __init__(self, before: int) -> None:
        self.before, self.all, self.told_after = before, 0, 0

    def now(self) -> float:
        self.all += 1
        return 0.9 * self.all / self.before if self.all <= self.before else 1.0 + self.after

    def note(self, _: Any) -> None:
        self.told_after += self.all > self.before

    @property
    def after(self) -> int:
        return self.all - self.before


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_when_a_look_at_the_clock_says_that_time_is_up_few_more_follow(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rc.solve(rc.problems.make("ce"), name, **options, time_limit=0.1)  # what is compiled is compiled
    monkeypatch.setattr(clock, "_GRACE", 0.0)
    monkeypatch.setattr(clock, "_MOST_WORK", 1e5)  # looks are no measure of how fast work is done
    for problem, before in itertools.product(PROBLEMS, (3, 60)):
        model, looks = rc.problems.make(problem), Looks(before)
        with monkeypatch.context() as patch:
            patch.setattr(Clock, "now", staticmethod(looks.now))
            result = rc.solve(model, name, **options, time_limit=1.0, epsilon=0.0, progress=looks.note)
        if looks.all <= before:
            continue  # it was done before
        assert looks.after < 120, (problem, before)
        assert looks.told_after <= 4, (problem, before)
        check_sound(model, result)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize(
    ("error", "status"),
    [(MemoryError, "memory limit"), (KeyboardInterrupt, "interrupted"), (TimeUpError, "time limit")],
)
def test_a_solve_that_is_stopped_in_its_set_up_has_bounds_and_a_policy(
    name: str, options: dict[str, Any], error: type[BaseException], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rc.solve(rc.problems.make("ce"), name, **options, time_limit=0.1)  # what is compiled is compiled

    def stop(*_: Any) -> None:
        raise error

    for module in ("belief_graph", "pointbased"):
        monkeypatch.setattr(f"rcpomdp.solvers.{module}.storage.blind_vectors", stop)
    monkeypatch.setattr("rcpomdp.solvers.cpbvi.solve.blind_vectors", stop)
    for problem in ("tiger", "crs-4-4", "patrol"):
        model = rc.problems.make(problem)
        result = rc.solve(model, name, **options)
        assert result.status == status
        assert result.upper < np.inf
        check_sound(model, result)


@pytest.mark.parametrize("objective", ["cost", 4.0])
def test_what_is_said_at_once_is_about_the_objective(objective: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = rc.problems.make("tiger")
    whole = rc.solve(model, "sarsop", objective=objective, epsilon=1e-6)
    monkeypatch.setattr(clock, "_GRACE", 0.0)
    early_one = rc.solve(model, "sarsop", objective=objective, time_limit=1e-9)
    assert early_one.objective == whole.objective
    assert early_one.lower <= whole.lower + 1e-6
    assert early_one.upper >= whole.upper - 1e-6


def test_a_model_that_can_end_is_worth_no_less_than_nothing_at_once() -> None:
    model = rc.problems.make("crs-4-4")
    found = early._at_once("sarsop", model, early.Aim(budgets=False), "time limit", {})
    assert found.lower <= 0 <= found.upper
    small = rc.problems.make("tiger")
    exact = early._at_once("sarsop", small, early.Aim(budgets=False), "time limit", {})
    worth = rc.evaluate(small, exact.policy)
    assert exact.standard_error is None
    assert exact.reward == pytest.approx(worth.reward)
    runs = early._runs(small, int(exact.policy.actions[0]), 0)
    assert runs.mean(axis=0) == pytest.approx([worth.reward, *worth.cost], rel=0.3)


def test_iterations_end_when_there_is_a_hurry_and_everything_when_time_is_up() -> None:
    model = rc.problems.make("hallway")
    full = fib.fib_vectors(model)
    with within(lambda: True):
        hurried = fib.fib_vectors(model)
        assert hurry()
    assert not hurry()
    assert (hurried >= full - 1e-9).all()
    with within(over=lambda: True), pytest.raises(TimeUpError):
        blind_bounds.blind_plans(model)
    check()


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("option", "value"), [("time_limit", 10**400), ("memory_limit", 10**400), ("epsilon", 10**400), ("time_limit", "1")]
)
def test_numbers_that_no_float_holds_are_refused(name: str, option: str, value: Any) -> None:
    with pytest.raises(rc.InputError, match="must be"):
        rc.solve(rc.problems.make("tiger"), name, **{option: value})


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.filterwarnings("error")
def test_limits_without_an_end_are_none(name: str) -> None:
    options = {"iterations": 3} if name in ("cpbvi", "cpbvi-d", "exp-gradient") else {}
    model = rc.problems.make("ce")
    result = rc.solve(model, name, time_limit=float("inf"), memory_limit=float("inf"), **options)
    assert result.seconds < AMPLE
    check_sound(model, rc.solve(model, name, epsilon=float("inf"), time_limit=1.0), np.inf)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("scale", [5e-324, 1e155, 1e308])
@pytest.mark.filterwarnings("error")
def test_rewards_of_no_size_to_compute_with_are_refused(name: str, scale: float) -> None:
    model = rc.CPOMDP(
        transition=[[[1.0]]] * 2, observation=[[[1.0]]] * 2, reward=[[scale, 0.0]], cost=[[scale, 0.0]],
        initial_belief=[1.0], discount=0.5, budget=scale,
    )  # fmt: skip
    if scale == 1e155 and name in ("arcs", "sarsop"):  # which solve no linear programs
        assert rc.solve(model, name).upper >= scale
        return
    with pytest.raises(rc.InputError, match="too large|too small"):
        rc.solve(model, name)


def two_states(**parts: Any) -> rc.CPOMDP:
    """Staying or changing places, one of which is free; nothing is seen."""
    return rc.CPOMDP(
        **{
            "transition": [np.eye(2), np.eye(2)[::-1]], "observation": [np.ones((2, 1))] * 2,
            "reward": [[1.0, 0.0], [0.0, 2.0]], "cost": [[1.0, 0.0], [0.0, 1.0]], "initial_belief": [0.5, 0.5],
            "discount": 0.9, "budget": 1.0, **parts,
        }
    )  # fmt: skip


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize("budget", [1e-320, 1e-304])
@pytest.mark.filterwarnings("error")
def test_budgets_of_no_size_to_compute_with_are_refused(name: str, options: dict[str, Any], budget: float) -> None:
    if name == "sarsop":
        return  # it looks at no budget
    with pytest.raises(rc.InputError, match="too small to compute with: give 0, or count in another unit"):
        rc.solve(two_states(budget=budget), name, **options)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.filterwarnings("error")
def test_budgets_beyond_all_that_can_be_spent_are_none(name: str, options: dict[str, Any]) -> None:
    limits = {"iterations": 5} if name in ("cpbvi", "cpbvi-d") else {}
    result = rc.solve(two_states(budget=1e300), name, **options, **limits)
    assert result.reward == pytest.approx(10.0, abs=1e-2)


@pytest.mark.parametrize("options", [{"k": 2}, {"variant": "paper"}])
def test_costs_of_no_size_to_compute_with_are_refused_by_all_kinds_of_arcs(options: dict[str, Any]) -> None:
    with pytest.raises(rc.InputError, match="too small"):
        rc.solve(two_states(cost=[[5e-324, 0.0], [0.0, 5e-324]], budget=5e-324), **options)


@pytest.mark.filterwarnings("error")
def test_a_finite_k_beside_a_budget_without_a_limit() -> None:
    costs = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]
    for budget in ([6.0, np.inf, 10.0], [3.0, np.inf, 0.0]):
        model = two_states(cost=costs, budget=budget)
        result, every = rc.solve(model, k=2, time_limit=AMPLE), rc.solve(model, time_limit=AMPLE)
        assert result.status in ("optimal", "infeasible")
        assert result.upper >= every.lower - 1e-3


def test_dense_matrices_are_solved_as_sparse_ones_are() -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((30, 30))
    dense /= dense.sum(axis=1, keepdims=True)
    model = rc.CPOMDP(
        transition=[dense, np.eye(30)], observation=[np.ones((30, 1))] * 2, reward=rng.random((30, 2)),
        initial_belief=np.full(30, 1 / 30), discount=0.9,
    )  # fmt: skip
    plans = blind_bounds.blind_plans(model)
    for a, moves in enumerate((dense, np.eye(30))):
        exact = np.linalg.solve(np.eye(30) - 0.9 * moves, model.reward[:, a])
        np.testing.assert_allclose(plans[a].reward, exact, rtol=1e-9)


# Memory


def test_a_policy_of_few_beliefs_keeps_to_the_memory_limit() -> None:
    model = rc.problems.make("ce", discount=0.5)
    few = few_beliefs(model, 1e9, lambda: False)
    assert isinstance(few, FewBeliefs)
    few.sweep()
    few.memory_limit = 1000
    with pytest.raises(MemoryError):
        few.controller()


def test_a_policy_that_acts_without_room_follows_the_plan_it_has() -> None:
    model = rc.problems.make("crs-4-4")
    result = rc.solve(model, "arcs", act_time=0.001, epsilon=1.0)
    assert isinstance(result.policy, OnlinePolicy)
    search = result.policy._search
    used = search.memory_limit = search.memory  # not a byte more
    runs = rc.simulate(model, result.policy, runs=30, steps=40)
    assert search.memory <= used * 1.01
    assert runs.summary()["violation_rate"]["mean"] == 0.0


# Interrupts


def test_an_interrupt_at_the_end_changes_nothing() -> None:
    with early.finishing(Clock(None)):
        os.kill(os.getpid(), signal.SIGINT)
        done = True
    assert done
    with early.finishing(Clock(None)):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):  # whoever asks twice is in earnest
            os.kill(os.getpid(), signal.SIGINT)


def test_what_is_compiled_may_take_longer_than_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are tried on a small model when they are compiled, and what that calls asks for the deadline, too."""
    passed = 0.0
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: passed))
    with within():
        watched = Clock(1.0).watch()
        with watched.stopped():
            passed += 100.0
            assert not hurry()
            check()
        check()
        assert not watched.over
        passed += 1.5
        with pytest.raises(TimeUpError):
            check()


WATCHED = """
import contextlib, sys
import numba.core.dispatcher as dispatcher
import rcpomdp as rc
from rcpomdp.solvers.clock import Clock

running, standing, load = [], [], dispatcher.Dispatcher._compile_for_args
watch, stopped = Clock.watch, Clock.stopped
Clock.watch = lambda clock: (running.append(1), watch(clock))[1]

@contextlib.contextmanager
def standing_still(clock):
    standing.append(1)
    with stopped(clock):
        yield
    standing.pop()

def loaded(kernel, *args, **named):
    if running and not standing:
        print(kernel.py_func.__module__, kernel.py_func.__name__)
    return load(kernel, *args, **named)

Clock.stopped, dispatcher.Dispatcher._compile_for_args = standing_still, loaded
rc.solve(rc.problems.make(sys.argv[2]), sys.argv[1], **eval(sys.argv[3]), epsilon=0.5, time_limit=20)
"""


@pytest.mark.parametrize(
    ("name", "problem", "options"),
    [
        ("arcs", "ce", {"proof": True}),
        ("arcs", "tiger", {}),
        ("arcs", "ce", {"act_time": 0.01}),
        ("arcs", "ce", {"variant": "paper"}),
        ("arcs", "ce", {"k": 3}),
        ("cpbvi", "tiger", {"iterations": 3}),
    ],
)
def test_no_kernel_is_loaded_or_compiled_while_the_clock_runs(name: str, problem: str, options: dict[str, Any]) -> None:
    words = [sys.executable, "-c", WATCHED, name, problem, str(options)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_what_comes_after_a_search_may_take_a_tenth_more(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 0.0
    monkeypatch.setattr(Clock, "now", staticmethod(lambda: passed))
    watched = Clock(100.0)
    for now, left in ((70.0, 40.0), (100.0, 10.0), (106.0, 4.0), (109.0, 2.0), (200.0, 2.0)):
        passed = now
        assert watched.afterwards().time_limit == pytest.approx(left)


def test_some_time_is_left_for_what_comes_after_a_search() -> None:
    assert Clock(None).afterwards().time_limit is None
    assert Clock(float("inf")).time_limit is None
    over = Clock(1e-9)
    assert over.afterwards().time_limit == pytest.approx(1e-3)  # a thousandth of a second is always left


# Names of solvers


@pytest.mark.parametrize("name", [None, 3, [], {}])
def test_a_solver_is_named_by_a_word(name: Any) -> None:
    with pytest.raises(rc.InputError, match="a solver is named by a word"):
        rc.solve(rc.problems.make("tiger"), name)


def _any_solver(model: rc.CPOMDP) -> Any:
    """None."""


@pytest.mark.parametrize(
    "said",
    [{"criterion": 3}, {"criterion": []}, {"online": "yes"}, {"variants": "abc"}, {"variants": [3]}, {"bounds": None}],
)
def test_solvers_do_not_declare_nonsense(said: dict[str, Any]) -> None:
    from rcpomdp.solvers import declare, register

    with pytest.raises(rc.InputError):
        declare(**said)
    for name, run in ((None, _any_solver), (3, _any_solver), ("x", 3)):
        with pytest.raises(rc.InputError):
            register(name, run)  # type: ignore[arg-type]
    bad: Callable[..., Any] = declare()
    with pytest.raises(rc.InputError, match="is a function"):
        bad(3)


def test_small_rewards_are_told_as_they_are() -> None:
    model = rc.CPOMDP(
        transition=[[[1.0]]] * 2, observation=[[[1.0]]] * 2, reward=[[1e-250, 0.0]], cost=[[1e-250, 0.0]],
        initial_belief=[1.0], discount=0.5, budget=1.0,
    )  # fmt: skip
    result = rc.solve(model, "sarsop")
    assert result.reward == pytest.approx(2e-250)
    assert result.cost == pytest.approx([2e-250])


def two_costs(budget: list[float]) -> rc.CPOMDP:
    """One state; the first action costs 1 and 2 at every step, the second one nothing and 1."""
    return rc.CPOMDP(
        transition=[[[1.0]]] * 2,
        observation=[[[1.0]]] * 2,
        reward=[[1.0, -1.0]],
        cost=[[[1.0, 0.0]], [[2.0, 1.0]]],
        initial_belief=[1.0],
        discount=0.5,
        cost_discount=[1.0, 0.5],
        budget=budget,
    )


@pytest.mark.parametrize("unlimited", [np.inf, 1e9])
def test_an_answer_at_once_heeds_budgets_that_are_limited(unlimited: float) -> None:
    found = early._at_once("arcs", two_costs([unlimited, 1.0]), early.Aim(in_every_history=True), "interrupted", {})
    assert not found.admissible
    assert found.policy.actions.tolist() == [1]  # the one that spends the least of the cost with a budget
    assert found.route is not None


def test_an_answer_at_once_is_bounded_by_what_its_policy_earns() -> None:
    model = rc.problems.make("ce", budget=1e9)
    found = early._at_once("arcs", model, early.Aim(in_every_history=True), "interrupted", {})
    assert found.admissible
    assert found.lower == pytest.approx(found.reward)
    assert found.lower <= found.reward
