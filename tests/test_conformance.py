"""Every solver keeps the rules, and a solver that breaks one is caught."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.solvers import SOLVERS, Result, TracePoint
from rcpomdp.testing import check_solver

SLACK = 15  # seconds, for a busy machine
# What keeps a check short; solvers that are not named here run as they are.
OPTIONS: dict[str, dict[str, Any]] = {
    "cgcp-cl": {"step_time": 0.2},
    "cpbvi": {"beliefs": 12, "iterations": 20},
    "cpbvi-d": {"beliefs": 12, "iterations": 20},
}


@pytest.mark.parametrize("name", SOLVERS)
def test_every_built_in_solver_keeps_the_rules(name: str) -> None:
    check_solver(name, slack=SLACK, **OPTIONS.get(name, {}))


# Solvers that break a rule. All are made from one that keeps them: the best single action.


def best_blind(model: rc.CPOMDP, *, epsilon=1e-3, time_limit=None, progress=None, seed=0) -> Result:
    start = model.initial_belief
    upper = float((rc.bounds.fib_vectors(model) @ start).max())
    plans = rc.bounds.blind_plans(model)
    kept = [p for p in plans if (p.sure_cost <= model.spending_limit).all()]
    best = max(kept or plans, key=lambda p: p.reward @ start if kept else -p.sure_cost.sum())
    lower = float(best.reward @ start) if kept else -np.inf
    status = "optimal" if upper - lower <= epsilon else "stalled"
    point = TracePoint(0.0, lower, upper, 1, 1, len(plans))
    try:
        if progress is not None:
            progress(point)
    except KeyboardInterrupt:
        status = "interrupted"
    return Result(
        solver="best-blind",
        objective="reward",
        status=status,
        lower=lower,
        upper=upper,
        reward=float(best.reward @ start),
        cost=best.cost @ start,
        sure_cost=best.sure_cost,
        policy=rc.policies.blind(model, best.action),
        seconds=0.0,
        setup_seconds=0.0,
        trace=[point],
        admissible=bool(kept),
    )


def test_the_one_they_are_made_from_keeps_the_rules() -> None:
    check_solver(best_blind, slack=SLACK)


def changed(change, where=lambda model, result: True):
    """The same solver, but for one thing in some of its results."""

    def solver(model, *, epsilon=1e-3, time_limit=None, progress=None, seed=0):
        result = best_blind(model, epsilon=epsilon, progress=progress)
        return replace(result, **change(model, result)) if where(model, result) else result

    return solver


class Wrapped:
    """A policy around another one."""

    def __init__(self, policy, model) -> None:
        self.policy, self.model = policy, model

    def initial(self, rng):
        return self.policy.initial(rng)

    def action(self, state):
        return self.policy.action(state)

    def update(self, state, observation):
        return self.policy.update(state, observation)


class OutOfRange(Wrapped):
    def action(self, state):
        return self.model.n_actions


class OwnDice(Wrapped):
    dice = np.random.default_rng(5)

    def initial(self, rng):
        return int(self.dice.integers(10**9))

    def action(self, state):
        return state % self.model.n_actions

    def update(self, state, observation):
        return state


class LateDice(OwnDice):
    """The first action is always the same."""

    def initial(self, rng):
        return 0

    def update(self, state, observation):
        return int(self.dice.integers(10**9))


class InPlace(Wrapped):
    """A state that is changed instead of followed by another."""

    def initial(self, rng):
        return [0]

    def action(self, state):
        return state[0] % self.model.n_actions

    def update(self, state, observation):
        state[0] += 1
        return state


class Counting(Wrapped):
    """Each update is another one than the last, whatever the state."""

    def __init__(self, policy, model) -> None:
        super().__init__(policy, model)
        self.updates = 0

    def initial(self, rng):
        return 0

    def action(self, state):
        return state % self.model.n_actions

    def update(self, state, observation):
        self.updates += 1
        return self.updates


class Helpless(Wrapped):
    """Cannot go on for long."""

    def initial(self, rng):
        return 0

    def action(self, state):
        return 0

    def update(self, state, observation):
        if state == 2:
            raise RuntimeError("lost")
        return state + 1


class Mute:
    def initial(self, rng):
        return 0


def acting(kind):
    return changed(lambda model, result: {"policy": kind(result.policy, model)})


def without_a_time_limit(model, *, progress=None):
    return best_blind(model, progress=progress)


def without_progress(model, *, time_limit=None):
    return best_blind(model)


def silent(model, *, time_limit=None, progress=None):
    return best_blind(model)


def interrupted_for_good(model, *, time_limit=None, progress=None):
    if progress is not None:
        progress(TracePoint(0.0, -np.inf, np.inf, 0, 0, 0))
    return best_blind(model)


def deaf(model, *, time_limit=None, progress=None):
    result = best_blind(model, progress=progress)
    return replace(result, status="stalled")


def slow(model, *, time_limit=None, progress=None):
    time.sleep(0.3)
    return best_blind(model, progress=progress)


def nothing(model, *, time_limit=None, progress=None):
    return None


def refuses_the_infeasible(model, *, epsilon=1e-3, time_limit=None, progress=None):
    result = best_blind(model, epsilon=epsilon, progress=progress)
    if not result.admissible and len(model.states) == 1:
        raise ValueError("no plan")
    return result


def refuses_several_costs(model, *, epsilon=1e-3, time_limit=None, progress=None):
    return best_blind(model, epsilon=epsilon, progress=progress) if model.n_costs == 1 else 1 / 0


def fickle(model, *, time_limit=None, progress=None, epsilon=1e-3):
    result = best_blind(model, progress=progress, epsilon=epsilon)
    return replace(result, upper=result.upper + float(np.random.default_rng().random()))


BROKEN = {
    "without a time limit": (without_a_time_limit, "a solver takes the option 'time_limit'"),
    "without progress": (without_progress, "a solver takes the option 'progress'"),
    "nothing": (nothing, "a solver returns a Result, not None"),
    "silent": (silent, "a solver calls progress now and then"),
    "interrupted for good": (interrupted_for_good, "KeyboardInterrupt came through"),
    "deaf": (deaf, "with the status 'interrupted', not 'stalled'"),
    "infeasible": (refuses_the_infeasible, "does not raise ValueError: no plan"),
    "several costs": (refuses_several_costs, "does not raise ZeroDivisionError"),
    "fickle": (fickle, "the same seed gives the same result, but upper is"),
    "status": (changed(lambda m, r: {"status": "done"}), "the status is one of optimal, "),
    "nan": (changed(lambda m, r: {"reward": np.nan}), "lower, upper and reward are numbers, not nan"),
    "shape": (changed(lambda m, r: {"cost": np.zeros(3)}), "cost has one number per cost, 1, not the shape (3,)"),
    "trace": (changed(lambda m, r: {"trace": []}), "the trace has a point at least"),
    "json": (changed(lambda m, r: {"seed": {1, 2}}), "summary() is plain JSON"),
    "crossed": (
        changed(lambda m, r: {"upper": r.lower - 1, "status": "stalled"}, lambda m, r: m.name != "hallway"),
        "is not above the upper bound",
    ),
    "crossed at the time limit": (
        changed(lambda m, r: {"upper": r.lower - 1, "status": "stalled"}),
        "the bounds hold whenever a solver stops",
    ),
    "boast": (changed(lambda m, r: {"status": "optimal"}, lambda m, r: m.name == "tiger"), "within epsilon, not"),
    "upper": (
        changed(
            lambda m, r: {"upper": r.reward - 1, "lower": -np.inf},
            lambda m, r: m.name == "tiger" and r.admissible,
        ),
        "which a verified policy is worth",
    ),
    "lower": (
        changed(lambda m, r: {"lower": 1e3, "upper": 1e4, "reward": 1e3}, lambda m, r: m.name == "tiger"),
        "which no policy exceeds",
    ),
    "unattained": (
        changed(
            lambda m, r: {"lower": (r.upper + r.lower) / 2, "admissible": None},
            lambda m, r: m.name == "tiger" and r.admissible,
        ),
        "the policy attains the lower bound",
    ),
    "gives up": (
        changed(lambda m, r: {"status": "infeasible"}, lambda m, r: m.name == "tiger" and r.admissible),
        "a problem is infeasible if no policy keeps its budgets",
    ),
    "reward": (
        changed(lambda m, r: {"reward": r.reward + 0.1}, lambda m, r: m.name == "tiger"),
        "the policy's reward is",
    ),
    "cost": (changed(lambda m, r: {"cost": r.cost + 0.1}, lambda m, r: m.name == "tiger"), "the policy's cost is"),
    "promise": (
        changed(
            lambda m, r: {
                "admissible": True,
                "policy": rc.policies.blind(m, 0),
                "reward": rc.evaluate(m, rc.policies.blind(m, 0)).reward,
                "cost": rc.evaluate(m, rc.policies.blind(m, 0)).cost,
                "lower": -np.inf,
            },
            lambda m, r: m.name == "tiger",
        ),
        "an admissible policy is one that rc.verify confirms, but",
    ),
    "out of range": (acting(OutOfRange), "an action is an index below"),
    "own dice": (acting(OwnDice), "all randomness enters through initial(rng)"),
    "late dice": (acting(LateDice), "updates of one state do not depend on each other"),
    "in place": (acting(InPlace), "an update leaves the state it starts from as it was"),
    "counting": (acting(Counting), "updates of one state do not depend on each other"),
    "helpless": (acting(Helpless), "a policy runs in rc.simulate, without RuntimeError: lost"),
    "mute": (acting(lambda policy, model: Mute()), "a policy has the method 'action'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_caught_and_named(name: str) -> None:
    solver, sentence = BROKEN[name]
    with pytest.raises(AssertionError) as error:
        check_solver(solver, ["tiger"], slack=SLACK)
    told = str(error.value)
    assert sentence in told
    assert told.startswith("solver '")
    assert " breaks a rule: " in told
    assert "\n" not in told


def test_being_late_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"stops at its time limit of 0.1 s, not 0\.\d s later"):
        check_solver(slow, ["tiger"], hard="tiger", time_limit=0.1, slack=0.05)


def test_bounds_of_another_budget_are_caught() -> None:
    """Under half of the budget it tells what can be had without any, which is beyond its bound for the whole."""
    tiger = rc.problems.make("tiger")
    free, bound = rc.solve(tiger, "sarsop"), rc.solve(tiger, "cgcp").upper
    assert free.lower > bound + 0.1

    def confused(model, *, epsilon=1e-3, time_limit=None, progress=None):
        result = best_blind(model, epsilon=epsilon, progress=progress)
        if model.name == "tiger" and model.budget[0] == 1.5:
            return replace(
                result,
                **{name: getattr(free, name) for name in ("lower", "reward", "cost", "sure_cost", "policy")},
                admissible=None,
            )
        return replace(result, upper=bound) if model.name == "tiger" and model.budget[0] == 3 else result

    with pytest.raises(AssertionError, match="a solver heeds the budget of the model it is given"):
        check_solver(confused, ["tiger"], slack=SLACK)


def test_a_name_or_a_function_and_models_or_names() -> None:
    check_solver("sarsop", [rc.problems.make("ce")], hard=rc.problems.make("hallway"), slack=SLACK)
    with pytest.raises(rc.InputError, match="unknown solver 'sarsopp'"):
        check_solver("sarsopp")
