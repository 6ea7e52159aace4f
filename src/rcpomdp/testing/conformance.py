"""Running a solver again and again: its options, its limits, its interrupts, its budgets."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from ..errors import InputError
from ..model import CPOMDP
from ..solvers import registry
from ..solvers.result import INTERRUPTED, TIME_LIMIT, Result
from . import conduct, form, models, truth
from .broken import FAULTS, RuleError, one_line, shown, told
from .enclosure import EPSILON, LIMIT, enclosed, enclosed_at_once, margin

PROBLEMS = ("ce", "tiger")
HARD = "hallway"  # what takes longer than `time_limit`
_OPTIONS = ("time_limit", "progress")  # that every solver takes
# What those that are built in take, each with a value that they refuse.
_NONSENSE = {"epsilon": -1.0, "time_limit": 0.0, "memory_limit": 0.0, "seed": -1, "progress": "often"}
_REPEATED = ("status", "lower", "upper", "reward", "cost", "sure_cost", "admissible", "standard_error")


def check_solver(
    solver: str | Callable[..., Result],
    problems: Sequence[str | CPOMDP] = PROBLEMS,
    *,
    hard: str | CPOMDP = HARD,
    time_limit: float = 1.0,
    slack: float = 5.0,
    online: bool | None = None,
    budgets: bool | None = None,
    stop_at_first: bool = False,
    **options: Any,
) -> None:
    """Check that a solver keeps the rules; those that it breaks are an AssertionError, a sentence a line.

    Parameters
    ----------
    solver : its name, or the function
    problems : small ones that it should solve within seconds
    hard : one on which it is stopped after `time_limit` seconds, and interrupted
    slack : seconds by which it may be late
    online : whether its policies search on while they run: then the clock may decide what they do on the hard problem,
        and repeating is asked of them on the small ones only; reward, cost and sure_cost may be those of the plan they
        start from; unless given, as the solver declares
    budgets : whether its bounds are on the optimum with budgets, in every history or in expectation; unless given, of
        every solver but those that declare the criterion "none"
    stop_at_first : whether to stop at the first rule that is broken
    options : of the solver, in each of its runs
    """
    traits: registry.Traits
    if isinstance(solver, str):
        traits = known = registry.get(solver)
        run, name = known.run, known.name
    else:
        traits, run, name = registry.traits(solver), solver, _name(solver)
    check = _Check(
        run,
        name,
        options,
        traits.online if online is None else online,
        traits.criterion is not registry.Criterion.NO_BUDGET if budgets is None else budgets,
        stop_at_first,
    )
    check.takes_its_options(_OPTIONS)
    if isinstance(solver, str) and solver in registry.SOLVERS:
        check.takes_its_options(_NONSENSE)
        check.refuses_nonsense(models.two_costs())
    with check.going_on():
        check.hurries(models.made(hard), time_limit, slack)  # the first run may compile, and is not timed
    with check.going_on():
        check.stops_when_interrupted(models.made(hard))
    for problem in problems:
        with check.going_on():
            model = models.made(problem)
            result = check.solves(model)
            with check.going_on():
                check.repeats(model, result)
            check.heeds_other_budgets(model, result)
    for model in (models.infeasible(), models.two_costs(), models.no_costs()):
        with check.going_on():
            check.solves(model)
    if check.broken:
        raise AssertionError("\n".join(dict.fromkeys(check.broken)))


@dataclass(frozen=True)
class _Check:
    run: Callable[..., Result]
    name: str
    options: dict[str, Any]
    online: bool
    budgets: bool
    stop_at_first: bool
    broken: list[str] = field(default_factory=list)  # rules, a sentence each

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Note a rule that is broken within, and go on behind it."""
        try:
            yield
        except AssertionError as error:
            if self.stop_at_first or not isinstance(error.__cause__, RuleError):
                raise
            self.broken.append(str(error))

    @contextmanager
    def on(self, model: CPOMDP | None) -> Iterator[None]:
        """Name the place of a rule that is broken within."""
        try:
            yield
        except RuleError as broken:
            where = "" if model is None else f" on {model.name or 'a model'!r}"
            raise AssertionError(one_line(f"solver {self.name!r}{where} breaks a rule: {broken}")) from broken

    def takes_its_options(self, options: Iterable[str]) -> None:
        with self.on(None):
            try:
                known = inspect.signature(self.run).parameters
            except (TypeError, ValueError) as error:
                raise RuleError(f"a solver is a function, not {shown(self.run)}") from error
            anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
            for option in options:
                if option not in known and not anything:
                    raise RuleError(f"a solver takes the option {option!r}")

    def refuses_nonsense(self, model: CPOMDP) -> None:
        for option, value in _NONSENSE.items():
            with self.on(model), suppress(InputError):
                self.run(model, **self.options, **{option: value})
                raise RuleError(f"a solver refuses {option} = {value!r} with an InputError")

    def call(self, model: CPOMDP, **more: Any) -> Result:
        """Run the solver; `epsilon` and `seed` are given to those that take them."""
        known = inspect.signature(self.run).parameters
        usual = {"epsilon": EPSILON, "seed": 0, "time_limit": LIMIT}
        options = {key: value for key, value in usual.items() if key in known} | self.options | more
        with self.on(model):
            before = models.content(model)
            try:
                result: Any = self.run(model, **options)
            except KeyboardInterrupt as error:
                raise RuleError(
                    "an interrupt during the search returns what was found; KeyboardInterrupt came through"
                ) from error
            except FAULTS as error:
                raise RuleError(f"a solver returns a Result, and does not raise {told(error)}") from error
            if models.content(model) != before:
                raise RuleError("a solver leaves the model as it was, but its numbers have changed")
            if not isinstance(result, Result):
                raise RuleError(f"a solver returns a Result, not {shown(result)}")
            return result

    def looks_at(self, model: CPOMDP, result: Result, *, small: bool, exactly: bool) -> None:
        """All that can be told from one result; on problems that are not small without any search of its own."""
        with self.on(model):
            form.is_well_formed(model, result)
            conduct.acts(model, result.policy, repeats=small or not self.online)
        with self.going_on(), self.on(model):
            optimum = enclosed(model, self.budgets) if small else enclosed_at_once(model)
            truth.has_true_bounds(model, result, self.options.get("epsilon", EPSILON), optimum)
        with self.on(model):
            truth.is_possible(model, result)
            if self.online and result.admissible is not True:
                return  # its figures are of another policy, and it promises nothing
            runs = truth.sampled(model, result.policy)
            if not self.online:
                truth.is_worth_what_it_says(model, result, runs, exactly)
            truth.keeps_what_it_says(model, result, runs, exactly, plan=self.online)

    # What takes several runs

    def solves(self, model: CPOMDP) -> Result:
        """Solve a problem, and look at all that comes back."""
        result = self.call(model)
        self.looks_at(model, result, small=True, exactly=True)
        return result

    def repeats(self, model: CPOMDP, first: Result) -> None:
        again = self.call(model)
        with self.on(model):
            form.is_well_formed(model, again)
            if TIME_LIMIT in (first.status, again.status):
                return  # then the clock decides
            for what in _REPEATED:
                one, other = getattr(first, what), getattr(again, what)
                if not np.array_equal(one, other):
                    raise RuleError(
                        f"the same seed gives the same result, but {what} is {shown(one)}, then {shown(other)}"
                    )
            steps = 1 if self.online else 4  # what the first policy has searched for since, the second has not
            runs = [conduct.a_few_runs(model, result.policy, steps) for result in (first, again)]
            if not conduct.same(*runs):
                raise RuleError("the same seed gives the same result, but its policies run differently")

    def heeds_other_budgets(self, model: CPOMDP, result: Result) -> None:
        """Half, twice and no budget: more of it is worth no less."""
        if not model.n_costs:
            return
        others = [model.with_budget(budget) for budget in (model.budget / 2, model.budget * 2, None)]
        found = [self.call(other) for other in others]
        for other, its in zip(others, found, strict=True):
            self.looks_at(other, its, small=True, exactly=its.admissible is True)
        with self.on(model):
            for tight, loose in pairwise([found[0], result, *found[1:]]):
                if loose.upper < tight.lower - margin(model):
                    told = f"{tight.lower:.9g} is reached under the tighter one, {loose.upper:.9g} bounds the looser"
                    raise RuleError(f"a solver heeds the budget of the model it is given, but {told}")

    def hurries(self, model: CPOMDP, seconds: float, slack: float) -> None:
        self.call(model, time_limit=seconds)
        started = time.perf_counter()
        result = self.call(model, time_limit=seconds)
        late = time.perf_counter() - started - seconds
        with self.on(model):
            if late > slack:
                raise RuleError(f"a solver stops at its time limit of {seconds:g} s, not {late:.1f} s later")
        self.looks_at(model, result, small=False, exactly=False)

    def stops_when_interrupted(self, model: CPOMDP) -> None:
        calls = []

        def interrupt(point: Any) -> NoReturn:
            calls.append(point)
            raise KeyboardInterrupt

        result = self.call(model, time_limit=LIMIT, progress=interrupt)
        with self.on(model):
            if not calls:
                raise RuleError("a solver calls progress now and then")
            for point in calls:
                form.is_a_point(model, point)
            form.is_well_formed(model, result)
            if result.status != INTERRUPTED:
                raise RuleError(f"an interrupt ends the search with the status 'interrupted', not {result.status!r}")
        self.looks_at(model, result, small=False, exactly=False)


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", shown(function)))
