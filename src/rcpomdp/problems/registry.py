"""Problems by name: those built in, those that plug-ins offer, those registered in this process.

A plug-in is an entry point of the group "rcpomdp.problems" that loads to a `Problem` or to a builder, a
function with typed keyword parameters that returns a CPOMDP. It is loaded when it is asked for, and one that
cannot be loaded does not stand in the way of the others. Built-in names cannot be taken.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _plugins
from ..errors import ProblemError, did_you_mean
from .layouts import LAYOUTS
from .parameters import fits, noun

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..views.drawing import Drawing

GROUP = "rcpomdp.problems"
REQUIRED = inspect.Parameter.empty  # default of a parameter that has none
TERMS = ("added_costs", "cost_discount", "step_limit", "horizon")  # parameters of every model, whoever built it


class Parameter(NamedTuple):
    """The default of a builder's parameter, and its annotation."""

    default: Any
    annotation: Any


@dataclass(frozen=True)
class Problem:
    """A named problem and how to build it.

    >>> from rcpomdp.problems.tiger import tiger
    >>> problem = Problem("sharp-tiger", "Tiger for good ears.", tiger, {"accuracy": 0.95})
    >>> problem.make(budget=None)
    CPOMDP 'tiger': 2 states, 3 actions, 2 observations, 1 cost, discount 0.75, budget inf
    >>> problem.make(acuracy=0.9)
    Traceback (most recent call last):
    rcpomdp.errors.ProblemError: problem 'sharp-tiger' has no parameter 'acuracy'; did you mean 'accuracy'?
    """

    name: str
    summary: str
    build: Callable[..., CPOMDP] | str  # a builder, or "module:function" to be imported when it is needed
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)  # in place of the builder's own
    sizes: tuple[int, int, int] | None = None  # states, actions and observations with the defaults, if known
    drawing: Callable[[CPOMDP], Drawing] | str | None = None  # how a model is drawn (`views/drawing.py`), likewise

    @classmethod
    def from_builder(cls, name: str, build: Callable[..., CPOMDP]) -> Problem:
        """A problem that says of itself what its builder's docstring says first."""
        return cls(name, (inspect.getdoc(build) or "").partition("\n")[0], build)

    @property
    def builder(self) -> Callable[..., CPOMDP]:
        """The function that builds the model."""
        if not isinstance(self.build, str):
            return self.build
        try:
            build: Callable[..., CPOMDP] = resolve_name(self.build)
        except (ImportError, AttributeError, ValueError) as error:
            raise ProblemError(f"problem {self.name!r} has no builder {self.build!r}: {error}") from error
        return build

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Default and annotation of each parameter, in the builder's order."""
        try:
            try:
                signature = inspect.signature(self.builder, eval_str=True)
            except NameError:  # an annotation imported for type checkers alone cannot be evaluated, nor checked
                signature = inspect.signature(self.builder)
        except ProblemError:
            raise
        except Exception as error:  # whatever a stranger's signature holds
            raise ProblemError(f"problem {self.name!r} has a builder without a readable signature: {error}") from error
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return {
            key: Parameter(self.defaults.get(key, p.default), p.annotation)
            for key, p in signature.parameters.items()
            if p.kind in named
        }

    def make(self, /, **params: Any) -> CPOMDP:
        """Build the model; `params` take the place of the defaults."""
        known = self.parameters
        terms = {key: params.pop(key) for key in TERMS if key in params and key not in known}
        for key, value in params.items():
            if key not in known:
                hint = did_you_mean(key, [*known, *TERMS]) or f" (known: {', '.join([*known, *TERMS])})"
                raise ProblemError(f"problem {self.name!r} has no parameter {key!r}{hint}")
            if not fits(value, known[key].annotation):
                raise ProblemError(
                    f"parameter {key!r} of problem {self.name!r} must be {noun(known[key].annotation)}, not {value!r}"
                )
        for key, parameter in known.items():
            if parameter.default is REQUIRED and key not in params:
                raise ProblemError(f"problem {self.name!r} needs the parameter {key!r}")
        model = self.builder(**{**self.defaults, **params})
        from ..model import CPOMDP

        if not isinstance(model, CPOMDP):
            raise ProblemError(f"problem {self.name!r} built {model!r}, which is not a CPOMDP")
        return with_terms(model, terms).from_source(self.name, params | terms)

    def draw(self, model: CPOMDP) -> Drawing | None:
        """The drawing of a model that this problem built; None if it has none."""
        if self.drawing is None:
            return None
        try:
            draw = resolve_name(self.drawing) if isinstance(self.drawing, str) else self.drawing
        except (ImportError, AttributeError, ValueError) as error:
            raise ProblemError(f"problem {self.name!r} has no drawing {self.drawing!r}: {error}") from error
        from ..views.drawing import Drawing
        from ..views.untimed import drawn

        def checked(model: CPOMDP) -> Drawing:
            made = draw(model)
            if not isinstance(made, Drawing):
                raise ProblemError(f"problem {self.name!r} is drawn by {made!r}, which is no Drawing")
            return made

        return drawn(model, checked)


def with_terms(model: CPOMDP, terms: Mapping[str, Any]) -> CPOMDP:
    """A model with some of `TERMS`."""
    if "added_costs" in terms:
        model = model.with_costs(terms["added_costs"])
    if "cost_discount" in terms:
        model = model.with_cost_discount(terms["cost_discount"])
    if "step_limit" in terms:
        model = model.with_step_limit(terms["step_limit"])
    if terms.get("horizon") is not None:
        model = model.with_horizon(terms["horizon"])
    return model


_ROCK_DRAWING = f"{__package__}.rocksample_drawing:RockSampleDrawing"


def _rock_map(name: str, summary: str, sizes: tuple[int, int, int]) -> Problem:
    build = f"{__package__}.rocksample:rocksample"
    return Problem(name, summary, build, {**LAYOUTS[name], "name": name}, sizes, _ROCK_DRAWING)


_BUILT_IN = {
    problem.name: problem
    for problem in (
        Problem(
            "ce",
            "The paper's counterexample: look into the better tunnel, or take the other one at once.",
            f"{__package__}.ce:ce",
            sizes=(5, 2, 2),
        ),
        Problem(
            "tiger",
            "C-Tiger: a tiger waits behind one of two doors, and listening is metered.",
            f"{__package__}.tiger:tiger",
            sizes=(2, 3, 2),
        ),
        Problem(
            "tunnels",
            "A rover chooses among three tunnels, the richest of which is most likely rocky.",
            f"{__package__}.tunnels:tunnels",
            sizes=(53, 3, 5),
            drawing=f"{__package__}.tunnels_drawing:TunnelsDrawing",
        ),
        Problem(
            "rocksample",
            "RockSample on any map: check rocks from afar, sample the good ones, leave in the east.",
            f"{__package__}.rocksample:rocksample",
            sizes=(201, 8, 3),
            drawing=_ROCK_DRAWING,
        ),
        _rock_map("crs-4-4", "The paper's CRS(4,4): a 5 x 5 map with 3 rocks.", (201, 8, 3)),
        _rock_map("crs-5-7", "Constrained RockSample, 5 x 5 map, 7 rocks.", (3201, 12, 3)),
        _rock_map("crs-7-8", "Constrained RockSample, 7 x 7 map, 8 rocks.", (12545, 13, 3)),
        _rock_map("crs-11-11", "Constrained RockSample, 11 x 11 map, 11 rocks.", (247809, 16, 3)),
        _rock_map("rs-5-7", "Classic RockSample without costs, 5 x 5 map, 7 rocks.", (3201, 12, 3)),
        _rock_map("rs-7-8", "Classic RockSample without costs, 7 x 7 map, 8 rocks.", (12545, 13, 3)),
        _rock_map("rs-11-11", "Classic RockSample without costs, 11 x 11 map, 11 rocks.", (247809, 16, 3)),
        Problem(
            "cheese-maze",
            "A mouse that sees only the walls around it looks for the cheese, and steps are metered.",
            f"{__package__}.cheese_maze:cheese_maze",
            sizes=(11, 4, 7),
        ),
        Problem(
            "maze20",
            "A robot with poor sensors in a maze of 20 cells, where moves are metered and sensing is free.",
            f"{__package__}.maze20:maze20",
            sizes=(20, 6, 8),
        ),
        Problem(
            "query-s3",
            "Choose which of three information sources to query, when all but the first are metered.",
            f"{__package__}.query:query",
            sizes=(27, 3, 3),
        ),
        Problem(
            "mini-hall",
            "A robot finds its way through a hall of three cells, and forward moves are metered.",
            f"{__package__}.mini_hall:mini_hall",
            sizes=(13, 3, 9),
        ),
        Problem(
            "hallway",
            "A robot with poor sensors looks for a room off a long hall, and forward moves are metered.",
            f"{__package__}.hallway:hallway",
            sizes=(60, 5, 21),
        ),
        Problem(
            "hallway2",
            "A robot with poor sensors gets lost in a hall without landmarks, and forward moves are metered.",
            f"{__package__}.hallway:hallway2",
            sizes=(92, 5, 17),
        ),
        Problem(
            "tiger-grid",
            "A robot with poor sensors goes for the goal between two tigers, and forward moves are metered.",
            f"{__package__}.hallway:tiger_grid",
            sizes=(36, 5, 17),
        ),
        Problem(
            "tag",
            "A robot hunts an opponent that flees unseen, and its time in one room is metered.",
            f"{__package__}.tag:tag",
            sizes=(870, 5, 30),
        ),
        Problem(
            "bridge-repair",
            "A bridge is kept up by repairs and inspections, and inspections are metered.",
            f"{__package__}.bridge_repair:bridge_repair",
            sizes=(5, 12, 5),
        ),
        Problem(
            "warehouse",
            "A robot that is lost between shelves looks for its dock, and moves are metered, bumps above all.",
            f"{__package__}.warehouse:warehouse",
            sizes=(344, 5, 25),
        ),
        Problem(
            "patrol",
            "A drone photographs intruders that it can hardly see, and exposure to those near by is metered.",
            f"{__package__}.patrol:patrol",
            sizes=(576, 6, 48),
        ),
        Problem(
            "assembly-line",
            "Four machines wear out unseen, and the scrap and energy of the line are metered.",
            f"{__package__}.assembly_line:assembly_line",
            sizes=(625, 10, 8),
        ),
        Problem(
            "delivery",
            "A robot crosses a hospital at night, and its battery and its noise are metered.",
            f"{__package__}.delivery:delivery",
            sizes=(43, 5, 43),
        ),
        _rock_map("sample-return", "RockSample where checks and bad samples each have a budget.", (201, 8, 3)),
        Problem(
            "clinic",
            "A patient is to be cured, and toxicity, radiation and blood taken are metered.",
            f"{__package__}.clinic:clinic",
            sizes=(17, 5, 7),
        ),
        Problem(
            "drone",
            "A drone looks for a hiker until it is dark, and has one battery to search and to fly home.",
            f"{__package__}.drone:drone",
            sizes=(1048, 6, 25),
            drawing=f"{__package__}.drone_drawing:DroneDrawing",
        ),
        Problem(
            "remission",
            "A tumour may come back unseen, and a patient bears so many scans and doses in a lifetime.",
            f"{__package__}.remission:remission",
            sizes=(4, 3, 4),
        ),
        Problem(
            "cliff",
            "A rover goes home along a cliff whose ground may be loose, and the risk of falling is metered.",
            f"{__package__}.cliff:cliff",
            sizes=(36, 4, 21),
            drawing=f"{__package__}.cliff_drawing:CliffDrawing",
        ),
    )
}
_registered: dict[str, Problem] = {}


# Looking up


def names() -> list[str]:
    """All names: those built in, then the others in alphabetical order."""
    return [*_BUILT_IN, *sorted((_plugins.plug_ins(GROUP).keys() | _registered.keys()) - _BUILT_IN.keys())]


def get(name: str) -> Problem:
    """The problem of that name; an unknown one, or a plug-in that cannot be loaded, raises a ProblemError."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _registered:
        return _registered[name]
    plug_ins = _plugins.plug_ins(GROUP)
    if name in plug_ins:
        return _load(name, plug_ins[name])
    hint = (
        did_you_mean(name, names()) or "; `rcpomdp problems` lists those there are, and files end in .pomdp or .pomdpx"
    )
    raise ProblemError(f"unknown problem {name!r}{hint}")


def make(name: str, /, **params: Any) -> CPOMDP:
    """Build a problem's model; `params` take the place of its defaults."""
    return get(name).make(**params)


def catalogue() -> dict[str, Problem | ProblemError]:
    """Every problem by name, or the error of the plug-in that should have provided it; no model is built."""
    found: dict[str, Problem | ProblemError] = {}
    for name in names():
        try:
            found[name] = problem = get(name)
            if name not in _BUILT_IN:
                _ = problem.parameters  # one whose signature cannot be read is broken too
        except ProblemError as error:
            found[name] = error
    return found


def register(problem: Problem) -> None:
    """Make a problem known by its name for as long as the process lives; a later one replaces it."""
    if problem.name in _BUILT_IN:
        raise ProblemError(f"problem {problem.name!r} is built in; choose another name")
    _registered[problem.name] = problem


def _load(name: str, entries: list[EntryPoint]) -> Problem:
    loaded = _plugins.load("problem", name, entries, ProblemError)
    origin = _plugins.origin(entries[0])
    if isinstance(loaded, Problem):
        return replace(loaded, name=name)
    if callable(loaded):
        return Problem.from_builder(name, loaded)
    raise ProblemError(
        f"problem {name!r} of plug-in {origin!r} is {loaded!r}, neither a Problem nor a builder function"
    )
