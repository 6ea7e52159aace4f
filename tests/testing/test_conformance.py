"""Every solver keeps the rules, and a solver that breaks one is caught."""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.solvers import SOLVERS, Result, TracePoint
from rcpomdp.solvers.sarsop import sarsop
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
    "nan": (changed(lambda m, r: {"reward": np.nan}), "reward is a number, not nan"),
    "shape": (changed(lambda m, r: {"cost": np.zeros(3)}), "cost has one number per cost, 1, not the shape (3,)"),
    "trace": (changed(lambda m, r: {"trace": []}), "the trace has a point at least"),
    "json": (changed(lambda m, r: {"seed": {1, 2}}), "summary() is plain JSON"),
    "crossed": (
        changed(lambda m, r: {"upper": r.lower - 1, "status": "stalled"}, lambda m, r: m.name != "hallway"),
        "is not above the upper bound",
    ),
    "crossed at the time limit": (
        changed(lambda m, r: {"upper": r.lower - 1, "status": "stalled"}),
        "on 'hallway' breaks a rule: the lower bound",
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
        changed(
            lambda m, r: {"status": "infeasible", "lower": -np.inf, "upper": -np.inf},
            lambda m, r: m.name == "tiger" and r.admissible,
        ),
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
    is_caught(sentence, solver)


def is_caught(sentence: str, solver: Any, **options: Any) -> None:
    with pytest.raises(AssertionError) as error:
        check_solver(solver, ["tiger"], slack=SLACK, stop_at_first=True, **options)
    told = str(error.value)
    assert sentence in told
    assert told.startswith("solver '")
    assert told.count(" breaks a rule: ") == 1
    assert "\n" not in told


# Results that are not what they should be in one thing, wherever it is looked at first.


class Always:
    """One action for ever, in a form that only simulation can tell."""

    def __init__(self, action) -> None:
        self.chosen = action

    def initial(self, rng):
        return 0

    def action(self, state):
        return self.chosen

    def update(self, state, observation):
        return state


class Unready(Always):
    def initial(self, rng):
        raise ValueError("not\nyet")


class Lost(Always):
    def update(self, state, observation):
        raise ValueError("where am I")


class Forgetful(Always):
    def update(self, state):
        return state


class Quits(Always):
    def action(self, state):
        sys.exit(3)


def listening(model: rc.CPOMDP) -> dict[str, Any]:
    """The tiger's first action for ever, which no budget below 4 allows."""
    return {"reward": -4.0, "cost": np.array([4.0]), "sure_cost": np.array([4.0]), "lower": -np.inf}


def points(*told):
    return [TracePoint(*each, 1, 1, 1) for each in told]


FALSE: dict[str, tuple[Any, str]] = {
    "lower None": (lambda m, r: {"lower": None}, "lower is a number, not None"),
    "lower text": (lambda m, r: {"lower": "3"}, "lower is a number, not '3'"),
    "lower True": (lambda m, r: {"lower": True}, "lower is a number, not True"),
    "lower beyond doubles": (lambda m, r: {"lower": -(10**400)}, "lower is a number, not -1000"),
    "upper array": (lambda m, r: {"upper": np.array([r.upper])}, "upper is a number, not array(["),
    "reward None": (lambda m, r: {"reward": None}, "reward is a number, not None"),
    "reward infinite": (lambda m, r: {"reward": np.inf}, "reward is finite, not inf"),
    "reward impossible": (lambda m, r: {"reward": 1e9}, "the reward of any policy lies in [-400, 40], where 1e+09"),
    "cost impossible": (lambda m, r: {"cost": r.cost + 9}, "the cost of any policy lies in [0, 4], where 9 does not"),
    "cost nan": (
        lambda m, r: {"cost": r.cost * np.nan, "status": "time limit"},
        "cost is made of numbers, not array([nan",
    ),
    "cost text": (lambda m, r: {"cost": ["x"] * m.n_costs}, "cost is made of numbers, not ['x']"),
    "cost ragged": (lambda m, r: {"cost": [[1], [1, 2]]}, "cost has one number per cost, and is not [[1], [1, 2]]"),
    "cost infinite": (lambda m, r: {"cost": r.cost + np.inf}, "cost is finite, not array([inf])"),
    "cost negative": (lambda m, r: {"cost": r.cost * 0 - 5, "policy": Always(1)}, "cost is never negative"),
    "sure_cost nan": (lambda m, r: {"sure_cost": r.sure_cost * np.nan}, "sure_cost is made of numbers, not array([nan"),
    "status array": (lambda m, r: {"status": np.zeros(2)}, "the status is one of optimal, "),
    "objective": (lambda m, r: {"objective": "other", "upper": r.reward - 5}, "the objective is 'reward', the one"),
    "admissible": (lambda m, r: {"admissible": "yes"}, "admissible is True, False or None, not 'yes'"),
    "seconds": (lambda m, r: {"seconds": -5.0}, "seconds is never negative, but it is -5.0"),
    "setup_seconds": (lambda m, r: {"setup_seconds": np.inf}, "setup_seconds is finite, not inf"),
    "trace of others": (lambda m, r: {"trace": [1, 2]}, "a trace is made of them, not of 1"),
    "trace None": (lambda m, r: {"trace": None}, "the trace is a list of TracePoints, not None"),
    "trace crossed": (lambda m, r: {"trace": points((0.0, 5.0, 1.0))}, "lower 5 is not above upper 1"),
    "trace nan": (lambda m, r: {"trace": points((0.0, np.nan, 1.0))}, "lower in the trace is a number, not nan"),
    "trace back in time": (
        lambda m, r: {"trace": points((2.0, 0.0, 1.0), (1.0, 0.0, 1.0))},
        "time goes on in the trace, not from 2 s to 1 s",
    ),
    "standard error shape": (
        lambda m, r: {"standard_error": np.zeros(7)},
        "standard_error has one number for the reward and one per cost, 2, not the shape (7,)",
    ),
    "standard error negative": (
        lambda m, r: {"standard_error": np.full(1 + m.n_costs, -1.0)},
        "a standard error is finite and never negative, but it is array([-1., -1.])",
    ),
    "standard error nan": (
        lambda m, r: {"standard_error": np.full(1 + m.n_costs, np.nan), "reward": r.reward + 100, "lower": -np.inf},
        "standard_error is made of numbers, not array([nan, nan])",
    ),
    "standard error huge": (
        lambda m, r: {"standard_error": np.full(1 + m.n_costs, 1e9), "reward": r.reward + 100, "lower": -np.inf},
        "a standard error is at most what totals differ by",
    ),
    "mean": (
        lambda m, r: {"standard_error": np.full(1 + m.n_costs, 0.1), "reward": r.reward + 100, "lower": -np.inf},
        "simulated runs, not -80 as the result says",
    ),
    "mean of what only simulation can tell": (
        lambda m, r: {"policy": Always(1), "reward": r.reward + 200, "lower": -np.inf, "admissible": None},
        "simulated runs, not 20 as the result says",
    ),
    "both bounds low": (lambda m, r: {"lower": -1e7, "upper": -1e6}, "which a verified policy is worth"),
    "infeasible with bounds": (
        lambda m, r: {"status": "infeasible"},
        "where no policy keeps the budget both bounds are -inf, but 'infeasible' comes with [-180, ",
    ),
    "needed above suffices": (
        lambda m, r: {"needed": np.full(m.n_costs, 99.0), "suffices": np.zeros(m.n_costs)},
        "what is needed, array([99.]), is not more than what suffices, array([0.])",
    ),
    "needed negative": (lambda m, r: {"needed": np.full(m.n_costs, -1.0)}, "needed is never negative"),
    "suffices shape": (lambda m, r: {"suffices": 3.0}, "suffices has one number per cost, 1, not the shape ()"),
    "sure_cost exceeded": (
        lambda m, r: listening(m) | {"policy": rc.policies.blind(m, 0), "sure_cost": np.zeros(1), "admissible": None},
        "no history exceeds sure_cost, 0, but a simulated run spends 3.99",
    ),
    "admissible, as far as only simulation can tell": (
        lambda m, r: listening(m) | {"policy": Always(0), "admissible": True},
        "the budget of an admissible policy is 3, but a simulated run spends 3.99",
    ),
    "initial raises": (
        lambda m, r: {"policy": Unready(1)},
        "answers initial(rng), and does not raise ValueError: not yet",
    ),
    "update raises": (
        lambda m, r: {"policy": Lost(1)},
        "answers update(state, observation), and does not raise ValueError",
    ),
    "update takes less": (
        lambda m, r: {"policy": Forgetful(1)},
        "answers update(state, observation), and does not raise Ty",
    ),
    "action exits": (lambda m, r: {"policy": Quits(1)}, "answers action(state), and does not raise SystemExit: 3"),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_in_a_result_is_caught_and_named(name: str) -> None:
    change, sentence = FALSE[name]
    is_caught(sentence, changed(change), hard="tiger")


# Solvers that are wrong in what no single result shows, or only where it is looked at closely.


def greets(model, *, time_limit=None, progress=None):
    return best_blind(model, progress=progress and (lambda point: progress("hello")))


def exits(model, *, time_limit=None, progress=None):
    sys.exit(3)


def raises_two_lines(model, *, time_limit=None, progress=None):
    raise ValueError("one\ntwo")


def spoils_the_reward(model, *, time_limit=None, progress=None):
    result = best_blind(model, progress=progress)
    model.arrays.reward.setflags(write=True)
    model.arrays.reward[:] = 0
    model.arrays.reward.setflags(write=False)
    return result


def spoils_the_budget(model, *, time_limit=None, progress=None):
    object.__setattr__(model, "budget", model.budget * 10)
    return best_blind(model, progress=progress)


def in_turn(*changes):
    """Another change each time, of what is told of the tiger."""
    turn = itertools.cycle(changes)

    def change(model, result):
        return next(turn)(model, result)

    return changed(change, lambda model, result: model.name == "tiger")


def ignores_budgets(model, *, epsilon=1e-3, time_limit=None, progress=None):
    return rc.solve(model, "sarsop", epsilon=epsilon, time_limit=time_limit, progress=progress)


DEVIOUS = {
    "no function": (5, "a solver is a function, not 5"),
    "greets": (greets, "progress is called with a TracePoint, and a trace is made of them, not of 'hello'"),
    "exits": (exits, "a solver returns a Result, and does not raise SystemExit: 3"),
    "two lines": (raises_two_lines, "does not raise ValueError: one two"),
    "reward of the model": (spoils_the_reward, "a solver leaves the model as it was"),
    "budget of the model": (spoils_the_budget, "a solver leaves the model as it was"),
    "sure_cost in turn": (
        in_turn(lambda m, r: {"sure_cost": r.sure_cost + 1}, lambda m, r: {"sure_cost": r.sure_cost + 2}),
        "the same seed gives the same result, but sure_cost is array([",
    ),
    "policies in turn": (  # opening either door is worth the same
        in_turn(lambda m, r: {"policy": Always(1)}, lambda m, r: {"policy": Always(2)}),
        "the same seed gives the same result, but its policies run differently",
    ),
    "nowhere feasible": (
        changed(lambda m, r: {"lower": r.reward}, lambda m, r: not r.admissible),
        "'no policy keeps the budget' breaks a rule: where no policy keeps the budget the lower bound is -inf, not 4",
    ),
    "ignores budgets": (ignores_budgets, "on 'tiger' breaks a rule: the lower bound 1.92"),
}


@pytest.mark.parametrize("name", DEVIOUS)
def test_what_no_single_result_shows_is_caught(name: str) -> None:
    solver, sentence = DEVIOUS[name]
    is_caught(sentence, solver, hard="tiger")


def test_a_history_that_runs_are_too_short_to_meet_is_caught() -> None:
    """Runs of 25 steps spend 4 (1 − 0.75^25) = 3.997."""
    solver = changed(
        lambda m, r: (
            listening(m) | {"policy": rc.policies.blind(m, 0), "sure_cost": np.array([3.999]), "admissible": None}
        ),
        lambda m, r: m.name == "tiger",
    )
    is_caught("no history exceeds sure_cost, 3.999, but one spends 4", solver, hard="tiger")


def test_bounds_at_the_time_limit_alone_are_checked() -> None:
    def liar(model, *, epsilon=1e-3, time_limit=None, progress=None):
        result = best_blind(model, epsilon=epsilon, progress=progress)
        return replace(result, lower=-1e7, upper=-1e6) if time_limit == 1.0 else result

    is_caught("which a verified policy is worth", liar)


def test_a_solver_may_say_that_it_heeds_no_budgets() -> None:
    check_solver(ignores_budgets, ["tiger"], hard="tiger", slack=SLACK, budgets=False)


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
        check_solver(confused, ["tiger"], slack=SLACK, budgets=False)


def test_a_name_or_a_function_and_models_or_names() -> None:
    check_solver("sarsop", [rc.problems.make("ce")], hard=rc.problems.make("hallway"), slack=SLACK)
    with pytest.raises(rc.InputError, match="unknown solver 'sarsopp'"):
        check_solver("sarsopp")


def test_all_broken_rules_are_told_at_once() -> None:
    def wrong(model, *, time_limit=None, progress=None):
        """Boasts of its bounds, and keeps quiet while it searches."""
        found = sarsop(model, epsilon=0.1, time_limit=time_limit)
        return replace(found, lower=found.upper + 5, upper=found.upper + 6)

    with pytest.raises(AssertionError) as error:
        check_solver(wrong, ["tiger"], hard="tiger", slack=SLACK, budgets=False)
    lines = str(error.value).splitlines()
    assert len(lines) == len(set(lines)) > 1
    assert all(line.startswith("solver 'wrong' on ") for line in lines)
    assert any("calls progress now and then" in line for line in lines)
    assert any("bound" in line for line in lines)
