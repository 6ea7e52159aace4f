"""Solvers by name: those built in, those that plug-ins offer, those registered in this process.

A solver is a function ``f(model, *, option=default, ...) -> Result``; the first line of its docstring says what it
guarantees, and `declare` what it is. A plug-in is an entry point of the group "rcpomdp.solvers" that loads to one. It
is loaded when it is asked for, and one that cannot be loaded does not stand in the way of the others. Built-in names
are not for others to take. `docs/solvers.md` tells how to write one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from .. import _plugins
from ..errors import InputError, did_you_mean
from .result import Result

GROUP = "rcpomdp.solvers"
DEFAULT = "arcs"  # the solver that is meant if none is named
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_F = TypeVar("_F", bound=Callable[..., Result])


class Criterion(StrEnum):
    """The histories in which the optimum that a solver seeks keeps the budget."""

    EVERY_HISTORY = "every history"
    EXPECTATION = "expectation"
    NO_BUDGET = "none"


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Facts about a solver that hold whatever its options are."""

    criterion: Criterion | None = None  # None: it does not say
    online: bool = False  # its policies solve while they run: they cannot be saved, and the clock decides what they do
    randomised: bool = False  # its policies draw at random
    bounds: bool = True  # it bounds the optimum
    variants: tuple[str, ...] = ()  # values of its option "variant", the default first
    cost_discounts: bool = False  # it knows costs whose discount is not that of the reward, also without a horizon
    step_limits: bool = False  # it keeps limits for single steps, or heeds no limit at all


@dataclass(frozen=True, kw_only=True)
class Solver(Traits):
    """One entry of the catalogue."""

    name: str
    summary: str  # what it guarantees
    function: Callable[..., Result] | str  # or where to import it from, as "module:name"
    origin: str | None = None  # the plug-in it comes from; None if it is built in or registered
    error: str | None = None  # why it cannot be used

    @property
    def counts_work(self) -> bool:
        """True if a work limit is kept: the solver is built in, and its policies do not solve while they run."""
        return isinstance(self.function, str) and not self.online

    @property
    def run(self) -> Callable[..., Result]:
        """The function; one that is built in is imported now."""
        if not isinstance(self.function, str):
            return self.function
        module, _, function = self.function.partition(":")
        run: Callable[..., Result] = getattr(import_module(module, __package__), function)
        return run

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """Options by name: the parameters of the function but the model."""
        return _options(self.run)

    def default(self, option: str) -> Any:
        """The value of an option unless given; None if there is no such option."""
        known = self.options
        return known[option].default if option in known else None


SOLVERS = {
    solver.name: solver
    for solver in (
        Solver(
            name="arcs",
            summary="optimum under budgets that hold in every history, with bounds and a proof",
            criterion=Criterion.EVERY_HISTORY,
            variants=("levels", "paper"),
            cost_discounts=True,
            step_limits=True,
            function=".arcs.solve:arcs",
        ),
        Solver(
            name="cgcp",
            summary="optimum under budgets that hold in expectation, with bounds",
            criterion=Criterion.EXPECTATION,
            randomised=True,
            function=".cgcp.solve:cgcp",
        ),
        Solver(
            name="cgcp-cl",
            summary="the same solved anew at each step of a run, with bounds on the first",
            criterion=Criterion.EXPECTATION,
            online=True,
            randomised=True,
            function=".cgcp.closed_loop:cgcp_cl",
        ),
        Solver(
            name="exp-gradient",
            summary="a mixture near that optimum, and an upper bound on it",
            criterion=Criterion.EXPECTATION,
            randomised=True,
            variants=("derived", "paper"),
            function=".exp_gradient:exp_gradient",
        ),
        Solver(
            name="cpbvi",
            summary="a randomised policy for budgets in expectation, without bounds or promises",
            criterion=Criterion.EXPECTATION,
            randomised=True,
            bounds=False,
            function=".cpbvi.solve:cpbvi",
        ),
        Solver(
            name="cpbvi-d",
            summary="a deterministic policy of the same kind, without bounds or promises",
            criterion=Criterion.EXPECTATION,
            bounds=False,
            function=".cpbvi.solve:cpbvi_d",
        ),
        Solver(
            name="sarsop",
            summary="optimum of the POMDP without budgets, with bounds",
            criterion=Criterion.NO_BUDGET,
            cost_discounts=True,
            step_limits=True,
            function=".sarsop:sarsop",
        ),
    )
}
_registered: dict[str, Callable[..., Result]] = {}


def declare(
    *,
    criterion: str | None = None,
    online: bool = False,
    randomised: bool = False,
    bounds: bool = True,
    variants: tuple[str, ...] = (),
    cost_discounts: bool = False,
    step_limits: bool = False,
) -> Callable[[_F], _F]:
    """Decorate a solver with what it is; one that is not decorated is taken to be what the defaults say.

    Parameters
    ----------
    criterion : where its optimum keeps the budget: "every history", "expectation", or "none" if it heeds no budget
    online : whether its policies solve while they run
    randomised : whether its policies draw at random
    bounds : whether it bounds the optimum
    variants : values of its option ``variant``, the default first
    cost_discounts : whether it knows costs whose discount is not that of the reward. For one that does not they are
        folded into the costs of each step where there is a horizon, and refused where there is none
    step_limits : whether it keeps limits for single steps; models that have such are refused for it otherwise
    """
    known = [str(c) for c in Criterion]
    for what, said_of_it in (
        ("online", online),
        ("randomised", randomised),
        ("bounds", bounds),
        ("cost_discounts", cost_discounts),
        ("step_limits", step_limits),
    ):
        if not isinstance(said_of_it, bool):
            raise InputError(f"{what} is True or False, not {said_of_it!r}")
    if not isinstance(variants, tuple | list) or not all(isinstance(variant, str) for variant in variants):
        raise InputError(f"variants are names, as in ('levels', 'paper'), not {variants!r}")
    if criterion is not None and (not isinstance(criterion, str) or criterion not in known):
        raise InputError(f"a criterion is one of {', '.join(map(repr, known))}, not {criterion!r}")
    said = Traits(
        criterion=None if criterion is None else Criterion(criterion),
        online=online,
        randomised=randomised,
        bounds=bounds,
        variants=tuple(variants),
        cost_discounts=cost_discounts,
        step_limits=step_limits,
    )

    def mark(run: _F) -> _F:
        if not callable(run):
            raise InputError(f"a solver is a function, not {run!r}")
        run.traits = said  # type: ignore[attr-defined]  # functions take attributes
        return run

    return mark


def traits(run: Any) -> Traits:
    """Traits that a function declares of itself."""
    said = getattr(run, "traits", None)
    return said if isinstance(said, Traits) else Traits()


def names() -> list[str]:
    """All names: those built in, then the others in alphabetical order."""
    return [*SOLVERS, *sorted((_plugins.plug_ins(GROUP).keys() | _registered.keys()) - SOLVERS.keys())]


def get(name: str) -> Solver:
    """The solver of that name; an unknown one, or a plug-in that cannot be loaded, is an InputError."""
    if not isinstance(name, str):
        raise InputError(f"a solver is named by a word, as 'arcs', not by {name!r}")
    if name in SOLVERS:
        return SOLVERS[name]
    if name in _registered:
        return _solver(name, _registered[name])
    plug_ins = _plugins.plug_ins(GROUP)
    if name in plug_ins:
        return _load(name, plug_ins[name])
    known = names()
    raise InputError(f"unknown solver {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})")


def criterion(name: str) -> Criterion | None:
    """The criterion of a solver; None if it does not say, or is not known here, as in the rows of another machine."""
    try:
        return get(name).criterion
    except InputError:
        return None


def catalogue() -> list[Solver]:
    """Every solver, or what is wrong with the plug-in that should have provided it."""
    found = [*SOLVERS.values(), *(_solver(name, run) for name, run in sorted(_registered.items()))]
    for name, entries in sorted(_plugins.plug_ins(GROUP).items()):
        origin = " and ".join(_plugins.origin(entry) for entry in entries)
        if name in SOLVERS:
            error = f"solver {name!r} is built in; plug-in {origin!r} must choose another name"
            found.append(Solver(name=name, summary="", function="", origin=origin, error=error))
        elif name not in _registered:
            try:
                found.append(_load(name, entries))
            except InputError as problem:
                found.append(Solver(name=name, summary="", function="", origin=origin, error=str(problem)))
    return found


def register(name: str, run: Callable[..., Result]) -> None:
    """Make a solver known by its name for as long as the process lives; a later one replaces it."""
    if not isinstance(name, str):
        raise InputError(f"a solver's name is a word, not {name!r}")
    if name in SOLVERS:
        raise InputError(f"solver {name!r} is built in; choose another name")
    if not _NAME.fullmatch(name):
        raise InputError(f"a solver's name has small letters, digits, '-', '_' and '.', unlike {name!r}")
    _registered[name] = _check(run, f"solver {name!r}")


def _load(name: str, entries: list[EntryPoint]) -> Solver:
    loaded = _plugins.load("solver", name, entries, InputError)
    origin = _plugins.origin(entries[0])
    return _solver(name, _check(loaded, f"solver {name!r} of plug-in {origin!r}"), origin)


def _solver(name: str, run: Callable[..., Result], origin: str | None = None) -> Solver:
    summary = (inspect.getdoc(run) or "").partition("\n")[0].rstrip(".")
    return Solver(name=name, summary=summary, function=run, origin=origin, **asdict(traits(run)))


def _check(run: Any, what: str) -> Callable[..., Result]:
    """A function that can be a solver, or else an InputError."""
    if not callable(run):
        raise InputError(f"{what} is {run!r}, not a function")
    try:
        inspect.signature(run).bind(None)
        _options(run)
    except TypeError as error:
        raise InputError(f"{what} cannot be called with a model alone: {error}") from error
    except Exception as error:  # whatever a stranger's signature holds
        raise InputError(f"{what} has no readable signature: {error}") from error
    checked: Callable[..., Result] = run
    return checked


def _options(run: Callable[..., Result]) -> dict[str, inspect.Parameter]:
    parameters = list(inspect.signature(run).parameters.items())[1:]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: parameter for name, parameter in parameters if parameter.kind in named}
