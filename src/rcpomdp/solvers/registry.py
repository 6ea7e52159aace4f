"""Solvers by name: those built in, those that plug-ins offer, those registered in this process.

A solver is a function ``f(model, *, option=default, ...) -> Result``; the first line of its docstring says what it
guarantees. A plug-in is an entry point of the group "rcpomdp.solvers" that loads to one. It is loaded when it is asked
for, and one that cannot be loaded does not stand in the way of the others. Built-in names are not for others to take.
`docs/solvers.md` tells how to write one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

from .. import _plugins
from ..errors import InputError, did_you_mean
from .result import Result

GROUP = "rcpomdp.solvers"

# What each solver is, and the function that runs it.
SOLVERS = {
    "arcs": ("optimum under budgets that hold in every history, with bounds and a proof", ".arcs.solve:arcs"),
    "cgcp": ("optimum under budgets that hold in expectation, with bounds", ".cgcp.solve:cgcp"),
    "cgcp-cl": ("the same solved anew at each step of a run, with bounds on the first", ".cgcp.closed_loop:cgcp_cl"),
    "exp-gradient": ("a mixture near that optimum, and an upper bound on it", ".exp_gradient:exp_gradient"),
    "cpbvi": ("a randomised policy for budgets in expectation, without bounds or promises", ".cpbvi.solve:cpbvi"),
    "cpbvi-d": ("a deterministic policy of the same kind, without bounds or promises", ".cpbvi.solve:cpbvi_d"),
    "sarsop": ("optimum of the POMDP without budgets, with bounds", ".sarsop:sarsop"),
}
ONLINE = ("cgcp-cl",)  # solvers whose policies solve while they run
_registered: dict[str, Callable[..., Result]] = {}
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class Listed(NamedTuple):
    """One line of the catalogue."""

    name: str
    summary: str  # what it guarantees
    origin: str | None  # the plug-in it comes from; None if it is built in or registered
    error: str | None  # why it cannot be used


def names() -> list[str]:
    """All names: those built in, then the others in alphabetical order."""
    return [*SOLVERS, *sorted((_plugins.plug_ins(GROUP).keys() | _registered.keys()) - SOLVERS.keys())]


def get(name: str) -> Callable[..., Result]:
    """The function of that name; an unknown one, or a plug-in that cannot be loaded, is an InputError."""
    if name in SOLVERS:
        module, _, function = SOLVERS[name][1].partition(":")
        run: Callable[..., Result] = getattr(import_module(module, __package__), function)
        return run
    if name in _registered:
        return _registered[name]
    plug_ins = _plugins.plug_ins(GROUP)
    if name in plug_ins:
        return _load(name, plug_ins[name])
    known = names()
    raise InputError(f"unknown solver {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})")


def options(name: str) -> dict[str, inspect.Parameter]:
    """The options of a solver by name: the parameters of its function but the model."""
    return _options(get(name))


def catalogue() -> list[Listed]:
    """Every solver and what it guarantees, or what is wrong with the plug-in that should have provided it."""
    found = [Listed(name, summary, None, None) for name, (summary, _) in SOLVERS.items()]
    found += [Listed(name, _summary(run), None, None) for name, run in sorted(_registered.items())]
    for name, entries in sorted(_plugins.plug_ins(GROUP).items()):
        origin = " and ".join(_plugins.origin(entry) for entry in entries)
        if name in SOLVERS:
            error = f"solver {name!r} is built in; plug-in {origin!r} must choose another name"
            found.append(Listed(name, "", origin, error))
        elif name not in _registered:
            try:
                found.append(Listed(name, _summary(_load(name, entries)), origin, None))
            except InputError as problem:
                found.append(Listed(name, "", origin, str(problem)))
    return found


def register(name: str, run: Callable[..., Result]) -> None:
    """Make a solver known by its name for as long as the process lives; a later one replaces it."""
    if name in SOLVERS:
        raise InputError(f"solver {name!r} is built in; choose another name")
    if not _NAME.fullmatch(name):
        raise InputError(f"a solver's name has small letters, digits, '-', '_' and '.', unlike {name!r}")
    _check(run, f"solver {name!r}")
    _registered[name] = run


def _load(name: str, entries: list[EntryPoint]) -> Callable[..., Result]:
    loaded = _plugins.load("solver", name, entries, InputError)
    origin = _plugins.origin(entries[0])
    return _check(loaded, f"solver {name!r} of plug-in {origin!r}")


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


def _summary(run: Callable[..., Result]) -> str:
    return (inspect.getdoc(run) or "").partition("\n")[0].rstrip(".")
