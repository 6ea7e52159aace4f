"""The suites: what is run, on what, for how long. All constants of the experiments are here.

The suites named after the paper repeat its tables: 300 s for a solver, 1000 runs of 20 steps (100 runs of CGCP-CL,
which has 300 s before each step). Another time limit scales all cells of a suite alike. Beside our solvers stand the
paper's ("as published"), where the two differ by choice, and beside its problems those that it may have run instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..errors import InputError, did_you_mean
from ..problems.layouts import LAYOUTS
from ..solvers import registry
from .report.paper import LONGER
from .run.record import Cell
from .run.store import Asked

RUNS, ONLINE_RUNS, STEPS = 1000, 100, 20
LIMIT, LONGER_LIMIT = 300.0, 1000.0  # seconds
LONGEST = 1e9  # seconds, 30 years: much more cannot be scaled or waited for

ALGORITHMS = {  # as the paper calls them, and as the registry does; what follows a comma is a change to one
    "CGCP": "cgcp",
    "CGCP-CL": "cgcp-cl",
    "CPBVI": "cpbvi",
    "CPBVI-D": "cpbvi-d",
    "Exp-Gradient": "exp-gradient",
    "ARCS": "arcs",
    "SARSOP": "sarsop",
}
TABLE = ("CGCP", "CGCP-CL", "CPBVI", "CPBVI-D", "Exp-Gradient", "ARCS")
AS_PUBLISHED = ", as published"
PUBLISHED: dict[str, dict[str, Any]] = {  # options by which a solver does as the paper's
    "CGCP-CL": {"overspent": "least-cost"},
    "CPBVI": {"blind_plans": False},
    "CPBVI-D": {"blind_plans": False},
    "Exp-Gradient": {"variant": "paper"},
    "ARCS": {"variant": "paper"},
}
ACT_TIME = 0.05  # seconds of search while acting, the paper's
WITH_PATHS = ("tunnels",)  # problems whose runs are kept state by state, for the figure


class Place(NamedTuple):
    """A problem under a budget."""

    title: str
    problem: str
    budget: float
    parameters: dict[str, Any]


CE = Place("CE", "ce", 5.0, {})
TIGER, TIGHT_TIGER = Place("C-Tiger", "tiger", 3.0, {}), Place("C-Tiger", "tiger", 1.5, {})
CRS_4_4, CRS_5_7 = Place("CRS(4,4)", "crs-4-4", 1.0, {}), Place("CRS(5,7)", "crs-5-7", 1.0, {})
CRS_7_8, CRS_11_11 = Place("CRS(7,8)", "crs-7-8", 1.0, {}), Place("CRS(11,11)", "crs-11-11", 1.0, {})
TUNNELS = Place("Tunnels", "tunnels", 1.0, {"p_correct": 0.8})
CLEAR_TUNNELS = Place("Tunnels", "tunnels", 1.0, {"p_correct": 0.95})
# What the paper may have run in place of what it says, or does not say: its tables have the same rows for both.
HALF_CRS_4_4 = CRS_4_4._replace(budget=0.5)
RISING_TUNNELS = TUNNELS._replace(parameters={"p_correct": 0.8, "map": "rising"})
RISING_CLEAR_TUNNELS = TUNNELS._replace(parameters={"p_correct": 0.95, "map": "rising"})
OTHER_BOUND = 20.0  # of Exp-Gradient's multipliers, on C-Tiger with ĉ = 1.5, where less makes no difference
OTHER_PLANS = {"planned_budget": 2.0}  # of CPBVI, in the tunnels: a budget that does not bind

MAIN = (CE, TIGER, CRS_4_4, HALF_CRS_4_4, CRS_5_7, CRS_7_8, TUNNELS, RISING_TUNNELS)
EXTENDED = (
    *(CE, TIGHT_TIGER, TIGER, CRS_4_4, HALF_CRS_4_4, CRS_5_7, CRS_7_8, CRS_11_11),
    *(TUNNELS, RISING_TUNNELS, CLEAR_TUNNELS, RISING_CLEAR_TUNNELS),
)
UNCONSTRAINED = (CE, TIGER, TUNNELS, CRS_4_4, CRS_5_7)
UNLIMITED = 1000.0  # a budget that no policy can spend

# Ideas of ARCS switched off one at a time, as `solvers.arcs.search.ArcsSwitches` has them, and the gap to reach.
IDEAS: dict[str, dict[str, Any]] = {
    "no levels": {"levels": 1},
    "no relaxation": {"relaxation": False},
    "no multipliers": {"multipliers": False},
    "no M": {"needs": False},
    "not monotone": {"monotone": False},
    "one leaf": {"leaves": False},
    "no unconstrained leaves": {"unconstrained_leaves": False},
    "with sawtooth": {"sawtooth": True},
    "no rays": {"belief_graph": {"rays": False}},
    "no classes": {"belief_graph": {"classes": False}},
    "not merged": {"belief_graph": {"merge": False}},
    "all actions": {"belief_graph": {"lazy_actions": False}},
    "no FIB": {"belief_graph": {"fib": False}},
}
ABLATION = ((TIGER, 0.01), (TUNNELS, 0.0001), (CRS_4_4, 0.02), (CRS_5_7, 0.01), (CRS_7_8, 0.02))
ABLATION_LIMIT = 10.0

SCALING_ROCKS = (1, 3, 5)  # on the map of CRS(5,7), the first so many of its rocks
SCALING_LIMIT = 120.0

SWEEP = (
    (CE, (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)),
    (TIGER, (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)),
    (TUNNELS, (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)),
)
SWEEP_LIMIT = 30.0

# Each of these ends by itself long before its limit, so that its rows are the same wherever it is run.
SMOKE = (CE, TIGER, TUNNELS)
SMOKE_OPTIONS: dict[str, dict[str, Any]] = {"ARCS": {"epsilon": 0.01}, "Exp-Gradient": {"iterations": 25}}
SMOKE_LIMIT, SMOKE_RUNS = 120.0, 200


class Suite(NamedTuple):
    """A list of cells, made when it is asked for."""

    summary: str
    limit: float  # seconds that most of its cells have, unless another limit is given
    cells: Callable[[], list[Cell]]


def names() -> list[str]:
    """Names of the suites."""
    return list(SUITES)


def get(name: str) -> Suite:
    """The suite of that name."""
    if name not in SUITES:
        raise InputError(f"unknown suite {name!r}{did_you_mean(name, SUITES)} (known: {', '.join(SUITES)})")
    return SUITES[name]


def members(name: str) -> list[str]:
    """The suites that a name means: itself, or of "paper" all of the paper's.

    >>> members("paper"), members("smoke")
    (['paper-main', 'paper-extended', 'paper-unconstrained', 'paper-figure'], ['smoke'])
    """
    return [suite for suite in SUITES if suite.startswith("paper-")] if name == "paper" else [name]


def longest(cells: Sequence[Cell]) -> float:
    """Seconds that cells can take of one process: their limits, and what policies that search think in their runs."""
    thinks = ("step_time", "act_time")
    return sum(
        cell.time_limit + cell.runs * cell.steps * sum(cell.options.get(option) or 0.0 for option in thinks)
        for cell in cells
    )


def cells(
    name: str,
    time_limit: float | None = None,
    step_time: float | None = None,
    seeds: int = 1,
    only: str | None = None,
    skip: Sequence[str] = (),
    runs: int | None = None,
) -> list[Asked]:
    """The cells of a suite and their positions in it.

    Parameters
    ----------
    time_limit : seconds in place of the suite's; cells with a limit of their own are scaled alike
    step_time : seconds of CGCP-CL before each step; its time limit unless given
    seeds : each cell is run with the seeds 0, 1, ... up to this number
    only : a pattern (``*``, ``?``) that the label of a cell must hold, whatever the case
    skip : patterns that it must not hold
    runs : simulated runs of a cell at most

    >>> [label(cell) for _, cell in cells("paper-main", only="ce*arcs")]
    ['CE, ĉ = 5, ARCS', 'CE, ĉ = 5, ARCS, as published']
    """
    suite = get(name)
    for value, what in ((time_limit, "time limit"), (step_time, "time for a step")):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"the {what} must be above 0 and finite, not {value!r}")
        if value is not None and value > LONGEST:
            raise InputError(f"the {what} must be at most {LONGEST:g} seconds, not {value!r}")
    if seeds < 1:
        raise InputError(f"seeds must be at least 1, not {seeds}")
    if runs is not None and runs < 0:
        raise InputError(f"runs must be at least 0, not {runs}")
    scale = 1.0 if time_limit is None else time_limit / suite.limit
    asked = []
    for position, cell in enumerate(suite.cells()):
        limit = cell.time_limit * scale
        options = cell.options
        if registry.get(cell.solver).online:
            options = {"step_time": limit if step_time is None else step_time, **options}
        n = cell.runs if runs is None else min(cell.runs, runs)
        for seed in range(seeds):
            asked.append(Asked(position, replace(cell, time_limit=limit, options=options, runs=n, seed=seed)))
    asked = [entry for entry in asked if not any(_is_like(entry.cell, pattern) for pattern in skip)]
    if only is not None:
        asked = [entry for entry in asked if _is_like(entry.cell, only)]
    if not asked:
        raise InputError(f"suite {name!r} has no cell {'left' if only is None else f'like {only!r}'}")
    return asked


def label(cell: Cell) -> str:
    """A cell in words, without its limits."""
    parameters = (f"{key} = {value}" for key, value in cell.parameters.items() if isinstance(value, int | float | str))
    budget = ", ".join(f"{limit:g}" for limit in cell.budget)
    seed = [f"seed {cell.seed}"] if cell.seed else []
    return ", ".join([cell.title, *parameters, f"ĉ = {budget}", cell.algorithm, *seed])


def _is_like(cell: Cell, pattern: str) -> bool:
    return fnmatchcase(label(cell).lower(), f"*{pattern.lower()}*")


def _cell(
    suite: str,
    place: Place,
    algorithm: str,
    options: dict[str, Any] | None = None,
    limit: float = LIMIT,
    runs: int = RUNS,
) -> Cell:
    title, problem, budget, parameters = place
    solver = ALGORITHMS[algorithm.partition(",")[0]]
    if registry.get(solver).online:
        runs = min(runs, ONLINE_RUNS)
    return Cell(
        suite, title, problem, parameters, [budget], algorithm, solver, options or {}, limit, runs, STEPS, seed=0
    )


def _tables(suite: str, places: Sequence[Place]) -> list[Cell]:
    """Every algorithm of the paper's tables at every place, ours and as published, and what else it may have run."""
    made = []
    for place in places:
        for algorithm in TABLE:
            made.append(_cell(suite, place, algorithm))
            if algorithm in PUBLISHED:
                made.append(_cell(suite, place, algorithm + AS_PUBLISHED, PUBLISHED[algorithm]))
        if place.problem == "tunnels":
            planned = f", planned with ĉ = {OTHER_PLANS['planned_budget']:g}"
            made += [_cell(suite, place, algorithm + planned, OTHER_PLANS) for algorithm in ("CPBVI", "CPBVI-D")]
        if place is TIGHT_TIGER:
            options = {**PUBLISHED["Exp-Gradient"], "bound": OTHER_BOUND}
            made.append(_cell(suite, place, f"Exp-Gradient{AS_PUBLISHED} with B = {OTHER_BOUND:g}", options))
        if place is TIGER:
            options = {**PUBLISHED["ARCS"], "act_time": ACT_TIME}
            made.append(_cell(suite, place, f"ARCS{AS_PUBLISHED} and acting", options, runs=ONLINE_RUNS))
        if place is HALF_CRS_4_4:  # the deeper the tree, the more steps are lost on ties
            options = {**PUBLISHED["ARCS"], "ties": "first"}
            made.append(_cell(suite, place, f"ARCS{AS_PUBLISHED} with its ties", options, limit=LIMIT / 20))
    return made


def _main() -> list[Cell]:
    return _tables("paper-main", MAIN)


def _extended() -> list[Cell]:
    return _tables("paper-extended", EXTENDED)


def _unconstrained() -> list[Cell]:
    places = [(place, LIMIT) for place in UNCONSTRAINED]
    places.append((CRS_5_7._replace(title=CRS_5_7.title + LONGER), LONGER_LIMIT))
    algorithms = {"SARSOP": {}, "CGCP": {}, "ARCS": {}, f"ARCS{AS_PUBLISHED}": PUBLISHED["ARCS"]}
    return [
        _cell("paper-unconstrained", place._replace(budget=UNLIMITED), algorithm, options, limit=limit)
        for place, limit in places
        for algorithm, options in algorithms.items()
    ]


def _figure() -> list[Cell]:
    places = (TUNNELS, CLEAR_TUNNELS, RISING_TUNNELS, RISING_CLEAR_TUNNELS)  # the paper does not say which it draws
    return [_cell("paper-figure", place, algorithm) for place in places for algorithm in ("CGCP", "ARCS")]


def _ablation() -> list[Cell]:
    made = []
    for place, gap in ABLATION:
        variants: dict[str, dict[str, Any]] = {"ARCS": {}}
        variants |= {f"ARCS, {idea}": {"switches": off} for idea, off in IDEAS.items()}
        variants[f"ARCS{AS_PUBLISHED}"] = PUBLISHED["ARCS"]
        for algorithm, options in variants.items():
            made.append(_cell("ablation", place, algorithm, {"epsilon": gap, **options}, ABLATION_LIMIT, runs=0))
    return made


def _scaling() -> list[Cell]:
    layout = LAYOUTS["crs-5-7"]
    maps = [
        Place(f"CRS(5,{k})", "rocksample", 1.0, {"n": layout["n"], "rocks": [list(at) for at in layout["rocks"][:k]]})
        for k in SCALING_ROCKS
    ]
    places = [*maps, CRS_5_7, CRS_7_8, CRS_11_11]
    chosen = ("SARSOP", "CGCP", "ARCS")
    return [_cell("scaling", place, algorithm, limit=SCALING_LIMIT) for place in places for algorithm in chosen]


def _sweep() -> list[Cell]:
    return [
        _cell("budget-sweep", place._replace(budget=budget), algorithm, limit=SWEEP_LIMIT, runs=0)
        for place, budgets in SWEEP
        for algorithm in ("CGCP", "ARCS")
        for budget in budgets
    ]


def _smoke() -> list[Cell]:
    made = [
        _cell("smoke", place, algorithm, SMOKE_OPTIONS.get(algorithm), SMOKE_LIMIT, SMOKE_RUNS)
        for place in SMOKE
        for algorithm, solver in ALGORITHMS.items()
        if not registry.get(solver).online or place is CE
    ]
    published = {**PUBLISHED["ARCS"], "epsilon": 0.01}
    return [*made, _cell("smoke", CE, f"ARCS{AS_PUBLISHED}", published, SMOKE_LIMIT, SMOKE_RUNS)]


SUITES = {
    "paper-main": Suite("Table 1 of the paper", LIMIT, _main),
    "paper-extended": Suite("the extended table of the paper's appendix", LIMIT, _extended),
    "paper-unconstrained": Suite("Table 2 of the paper: budgets that do not bind", LIMIT, _unconstrained),
    "paper-figure": Suite("runs through the tunnels: CGCP against ARCS, on both maps", LIMIT, _figure),
    "ablation": Suite("what each idea of ARCS is worth", ABLATION_LIMIT, _ablation),
    "scaling": Suite("constrained RockSample from 51 states to 247,809", SCALING_LIMIT, _scaling),
    "budget-sweep": Suite("optimal reward against the budget, C-POMDP and RC-POMDP", SWEEP_LIMIT, _sweep),
    "smoke": Suite("every solver on small problems; a few minutes", SMOKE_LIMIT, _smoke),
}
