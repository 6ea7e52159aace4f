"""Output of the command line: tables, JSON, and live lines on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.table import Table

from .. import tolerance
from .._console import PlainConsole
from .._json_values import finite
from .._plain_text import printable
from ..errors import ProblemError
from ..problems import Problem

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..verification import Verification

_LONG, _SHOWN = 24, 12  # names in a list from which on it is cut, and those that are left
_LEAST_GAP = 1e-6  # below it a gap is rounding, which no two machines have alike
PIPE_WIDTH = 160  # where stdout is no terminal, tables are not squeezed into 80 columns


def simulation_table(summary: dict[str, Any]) -> Table:
    """A simulation's summary, one quantity a row."""
    table = Table(box=None, header_style="bold")
    table.add_column("quantity", no_wrap=True)
    for title in ("mean", "± s.e.", "most", "truncation", "budget"):
        table.add_column(title, justify="right", no_wrap=True)

    def add(name: str, estimate: dict[str, Any], truncation: str = "", budget: str = "") -> None:
        error = "-" if estimate["se"] is None else f"{estimate['se']:.2g}"
        most = text(estimate["most"]) if "most" in estimate else ""
        table.add_row(name, text(estimate["mean"]), error, most, truncation, budget)

    def tail(estimate: dict[str, Any]) -> str:
        most = estimate["truncation"]
        return "no bound" if most is None else f"≤ {text(most)}"

    add("reward", summary["reward"], tail(summary["reward"]))
    for cost in summary["costs"]:
        budget = "unlimited" if cost["budget"] is None else text(cost["budget"])
        add(str(cost["name"]), cost, tail(cost), budget)
        add(f"{cost['name']} undiscounted", cost["undiscounted"])
        add(f"{cost['name']} spent, by beliefs", cost["spent"])
        if cost["budget"] is not None:
            add(f"{cost['name']} overspent, by beliefs", cost["overspent"])
    if summary["costs"]:
        add("violation rate", summary["violation_rate"])
        add("overrun rate", summary["overrun_rate"])
    if summary["deliberate"] is not None:
        add("deliberate rate", summary["deliberate"]["rate"])
        add("undecided rate", summary["deliberate"]["undecided"])
    add("length", summary["length"])
    return table


def beyond_last_step(summary: dict[str, Any], steps: int) -> str:
    """Say how much runs that were cut at the last step could still add."""
    tail = summary["reward"]["truncation"]
    added = "any amount" if tail is None else text(tail)
    later = ", and violate later" if any(cost["budget"] is not None for cost in summary["costs"]) else ""
    return f"runs that had not ended after {steps} steps could still add {added}{later}; --steps goes further"


def first_steps(summary: dict[str, Any]) -> list[str]:
    """Sentences on when runs go over the budget, and when they do so deliberately."""
    told = []
    deliberate = summary["deliberate"] and summary["deliberate"]["step"]
    for step, what in ((summary["violation_step"], "in violation"), (deliberate, "that overspend deliberately")):
        if step is not None:
            told.append(
                f"runs {what} do so at step {step['mean']:.3g} on average, step {step['earliest']} at the earliest"
            )
    return told


def problems_table(rows: list[dict[str, Any]], width: int) -> Table:
    """The listing of problems; in a narrow window the last column gives way, where rich would narrow all of them."""
    titles = ("name", "states", "actions", "obs.", "discount", "budget")
    table = Table(box=None, header_style="bold")
    for title in titles:
        table.add_column(title, justify="left" if title == "name" else "right", no_wrap=True)
    table.add_column("what it is", no_wrap=True)
    cells = [[text(value) for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(titles, *(row[:-1] for row in cells), strict=True)]
    room = max(12, width - sum(widths) - 2 * len(widths) - 3)
    for *numbers, summary in cells:
        table.add_row(*numbers, summary if len(summary) <= room else summary[: room - 1] + "…")
    return table


def problem_facts(problem: Problem, given: dict[str, Any]) -> dict[str, Any]:
    """Facts about a problem with the parameters given."""
    model = problem.make(**given)
    return {
        "name": problem.name,
        "summary": problem.summary,
        **model_facts(model),
        **class_facts(model),
        "parameters": {key: jsonable(given.get(key, p.default)) for key, p in problem.parameters.items()},
        "fingerprint": model.fingerprint,
    }


def model_facts(model: CPOMDP) -> dict[str, Any]:
    """Sizes and ranges of a model."""
    return {
        "states": model.n_states,
        "terminal_states": int(model.terminal.sum()),
        "actions": [str(a) for a in model.actions],
        "observations": [str(o) for o in model.observations],
        "discount": model.discount,
        "horizon": model.horizon,
        "initial_support": int((model.initial_belief > 0).sum()),
        "reward_range": [float(model.reward.min()), float(model.reward.max())],
        "costs": [
            {
                "name": str(name),
                "budget": finite(model.budget[k]),
                "discount": float(model.cost_discount[k]),
                "step_limit": finite(model.step_limit[k]),
                "largest": float(model.cost[k].max()),
            }
            for k, name in enumerate(model.costs)
        ],
        "transitions": int(model.arrays.t_prob.size),
        "observation_entries": int(model.arrays.z_prob.size),
    }


def budget_facts(model: CPOMDP) -> dict[str, Any]:
    """What was kept: budgets, and where they are not as the paper has them how costs count, and for how long."""
    own = bool((model.cost_discount != model.discount).any())
    return {
        "budget": [finite(limit) for limit in model.budget],
        "cost_discount": model.cost_discount.tolist() if own else None,
        "step_limit": [finite(limit) for limit in model.step_limit] if model.has_step_limits else None,
        "model_horizon": model.horizon,
    }


def class_facts(model: CPOMDP) -> dict[str, Any]:
    """Facts about a model's observability classes."""
    from ..model.classes import observability_classes

    classes = observability_classes(model)
    return {
        "observability_classes": int(classes.reachable.sum()),
        "largest_class": int(classes.sizes[classes.reachable].max()),
        "unreachable_states": int(classes.sizes[~classes.reachable].sum()),
    }


def _folded(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts whose long lists of names are cut, with how many there are.

    >>> _folded({"actions": ["a"] * 30})["actions"][-1]
    '… (30 in all)'
    """
    return {
        key: [*value[:_SHOWN], f"… ({len(value):,} in all)"]
        if isinstance(value, list) and len(value) > _LONG and all(isinstance(item, str) for item in value)
        else value
        for key, value in facts.items()
    }


def facts_table(facts: dict[str, Any]) -> Table:
    """A problem's facts, one a row; long lists are cut."""
    table = _pairs()
    for key, value in _folded(facts).items():
        if key == "costs":
            for cost in value:
                about = f"budget {text(cost['budget']) if cost['budget'] is not None else 'unlimited'}"
                if cost["discount"] != facts["discount"]:
                    about += f", discount {text(cost['discount'])}"
                if cost["step_limit"] is not None:
                    about += f", limit {text(cost['step_limit'])} a step"
                table.add_row(f"cost {cost['name']!r}", f"{about}; the largest is {text(cost['largest'])}")
        elif key == "parameters":
            for name, default in value.items():
                table.add_row(f"-p {name}", setting(default))
        else:
            table.add_row(key.replace("_", " "), text(value))
    return table


def policy_facts(path: str, info: dict[str, Any]) -> dict[str, Any]:
    """Facts about a policy file, its name first."""
    kind, model = info["policy"], info["model"]
    return {
        "file": path,
        **kind,
        "model": model["name"],
        "fingerprint": model["fingerprint"],
        "budget": model["budget"],
        **{key: info[key] for key in ("problem", "claims", "format_version", "library_version")},
    }


def policy_table(facts: dict[str, Any]) -> Table:
    """A policy file's facts, one a row; what is claimed is indented."""
    table = _pairs()
    for key, value in facts.items():
        if key == "problem" and value is not None:
            settings = "".join(f" -p {name}={setting(v)}" for name, v in value["parameters"].items())
            table.add_row(key, f"{value['name']}{settings}")
        elif key == "claims" and value is not None:
            table.add_row(key, "")
            for name, claim in value.items():
                if claim not in (None, [], {}):
                    table.add_row(f"  {name.replace('_', ' ')}", _precise(name, claim))
        elif key == "budget":
            table.add_row(key, ", ".join("unlimited" if b is None else text(b) for b in value))
        elif value is not None:
            table.add_row(key.replace("_", " "), text(value))
    return table


def solution_table(summary: dict[str, Any]) -> Table:
    """A result's summary, one quantity a row."""
    table = _pairs()
    other = ""
    if summary.get("status") == "infeasible":
        other = " (of a policy that breaks the budget)"
    elif summary.get("lower") is None and summary.get("upper") is not None:
        other = " (of a policy that is not known to keep the budget)"
    errors = summary.get("standard_error")
    for key, value in summary.items():
        if key == "candidates":
            table.add_row(key, f"{len(value)}, of which simulated runs chose {value[0]['name']}")
        elif value != [] and value is not None and key != "standard_error":
            whose = other if key == "reward" else ""
            title = "simulated runs" if key == "runs" else key.replace("_", " ")
            shown = _precise(key, value)
            if errors and errors[0] and key == "reward":
                shown = f"{value:.4g} ± {errors[0]:.2g}"
            elif errors and key == "cost":
                shown = ", ".join(f"{mean:.4g} ± {se:.2g}" for mean, se in zip(value, errors[1:], strict=True))
            table.add_row(title, shown + whose)
    return table


def verification_table(found: Verification, model: CPOMDP) -> Table:
    """Findings about a policy beside the claims, each with its verdict."""
    from ..verification.claims import SIMULATED, STATEMENTS

    table = Table(box=None, header_style="bold")
    table.add_column("quantity", no_wrap=True)
    for title in ("exact" if found.note is None else "proven", "claimed", "budget"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("claim" if found.checks else "", no_wrap=True)
    claims = {(check.claim, check.cost): check for check in found.checks}

    def add(name: str, exact: str, budget: str = "", cost: int | None = None, title: str = "") -> None:
        check = claims.pop((name, cost), None)
        claimed = "" if check is None else _precise(name, check.claimed)
        if check is not None and check.why == SIMULATED:
            claimed = f"{check.claimed:.6g}, simulated"
        table.add_row(title or claim_title(name), exact, claimed, budget, "" if check is None else check.verdict)

    def known(value: float) -> str:
        return "" if math.isnan(value) else f"{value:.9g}"

    add("reward", known(found.reward))
    for k, name in enumerate(model.costs):
        budget = "unlimited" if model.budget[k] == math.inf else text(float(model.budget[k]))
        add("cost", known(found.cost[k]), budget, k, str(name))
        exact = tolerance.same(found.spent[k], found.sure_cost[k])
        sure = f"{'' if exact else '≤ '}{found.sure_cost[k]:.9g}"
        add("sure_cost", sure, budget, k, "sure cost" if model.n_costs == 1 else f"{name}, sure cost")
    for name, cost in [key for key in claims if key[0] in STATEMENTS and key[0] != "budget"]:
        which = "" if cost is None or model.n_costs == 1 else f"{model.costs[cost]}, "
        add(name, "", "", cost, which + claim_title(name))
        if name == "upper" and (gap := _gap(found)) is not None:
            table.add_row("gap", "", f"{gap:.3g}" if gap >= _LEAST_GAP else f"< {_LEAST_GAP:g}")
    table.add_row("beliefs checked", text(found.beliefs))
    return table


def _gap(found: Verification) -> float | None:
    """Upper minus lower bound, if both are claimed."""
    bounds = {check.claim: check.claimed for check in found.checks if check.claim in ("lower", "upper")}
    numbers = all(isinstance(bounds.get(side), int | float) for side in ("lower", "upper"))
    return bounds["upper"] - bounds["lower"] if numbers else None


def claim_title(name: str) -> str:
    """A claim's name as a person reads it."""
    return {"lower": "lower bound", "upper": "upper bound"}.get(name, name.replace("_", " "))


def _pairs() -> Table:
    table = Table(box=None, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    return table


def _precise(key: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if key.endswith("seconds") else f"{value:.{3 if key == 'gap' else 9}g}"
    return text(value)


def problem_row(name: str, problem: Problem | ProblemError) -> dict[str, Any]:
    """Row of a listing for a problem, or for the plug-in that should have provided it."""
    sizes: tuple[int | None, ...] = (None, None, None)
    defaults: dict[str, Any] = {}
    if isinstance(problem, ProblemError):
        summary = str(problem)
    else:
        summary, sizes = problem.summary, problem.sizes or sizes
        defaults = {key: jsonable(default) for key, (default, _) in problem.parameters.items()}
    return {
        "name": name,
        "states": sizes[0],
        "actions": sizes[1],
        "observations": sizes[2],
        "discount": defaults.get("discount"),
        "budget": defaults.get("budget"),
        "summary": summary,
    }


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """A live line on stderr, if that is a terminal; yields what moves it on."""
    console = PlainConsole(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as live:
        task = live.add_task(what, total=total)
        yield lambda done: live.update(task, completed=done)


def stdout() -> PlainConsole:
    """The stream for data."""
    return PlainConsole(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def print_json(value: Any) -> None:
    """Data as JSON on stdout."""
    print(json.dumps(value, indent=2, allow_nan=False))


def setting(value: Any) -> str:
    """A parameter's value as ``-p`` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        items = ",".join(f"({setting(i)})" if isinstance(i, list | tuple) else setting(i) for i in value)
        return items + "," if len(value) == 1 else items
    return str(value)


def jsonable(value: Any) -> Any:
    """A parameter's value as JSON has it."""
    if isinstance(value, tuple | list):
        return [jsonable(item) for item in value]
    if isinstance(value, float):
        return finite(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def text(value: Any) -> str:
    """A value as a person reads it in a table."""
    match value:
        case None:
            shown = "-"
        case bool():
            shown = str(value).lower()
        case int():
            shown = f"{value:,}"
        case float():
            shown = f"{value:.6g}" if abs(value) < 0.9999 or abs(value) >= 1 else f"{value:.12g}"
        case dict():
            shown = ", ".join(f"{key} {text(item)}" for key, item in value.items())
        case list() | tuple():
            shown = ", ".join(f"({text(i)})" if isinstance(i, list | tuple) else text(i) for i in value)
        case _:
            shown = printable(str(value))
    return shown
