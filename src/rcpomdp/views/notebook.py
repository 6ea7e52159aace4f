"""Small HTML tables for notebooks: the ``_repr_html_`` of models, results, policies and runs.

Whatever comes from a model (labels, names, sentences) is escaped. No colours are set: text and lines take those of the
page, so that light and dark look alike. The module imports none of the classes that it shows; they import it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from .._plain_text import in_html

if TYPE_CHECKING:
    from ..evaluation import Evaluation
    from ..model import CPOMDP
    from ..simulation.estimates import Estimate, Spread
    from ..simulation.simulate import Simulation
    from ..solvers.result import Result
    from ..verification import Verification

_CELL = "text-align:left;vertical-align:top;padding:1px 10px 1px 0"
_NAME = f"{_CELL};font-weight:normal;opacity:0.75;white-space:nowrap"
# Lines are broken between words: some notebooks break a <pre> anywhere.
_WORDS = "white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
_TABLE = "border-collapse:collapse;border-top:1px solid;margin:2px 0 6px;color:inherit;font-size:inherit"
_SHOWN = 6  # labels of a list
_LONGEST = 60  # characters of a label


def table(title: str, rows: Iterable[Sequence[Any]], header: Sequence[Any] = ()) -> str:
    """A titled table of rows of at least two cells, the first of which names the row.

    >>> table("a < b", [("states", 2)])
    '<div><b>a &lt; b</b><table ...><tr><th ...>states</th><td ...>2</td></tr></table></div>'
    """
    parts = [f'<div><b>{in_html(title)}</b><table style="{_TABLE}">']
    if header:
        parts.append("<tr>" + "".join(f'<th style="{_CELL}">{_text(cell)}</th>' for cell in header) + "</tr>")
    for name, *cells in rows:
        *first, last = (_text(cell) for cell in cells)
        middle = "".join(f'<td style="{_CELL};white-space:nowrap">{cell}</td>' for cell in first)
        parts.append(f'<tr><th style="{_NAME}">{_text(name)}</th>{middle}<td style="{_CELL}">{last}</td></tr>')
    return "".join([*parts, "</table></div>"])


def model(shown: CPOMDP) -> str:
    """A model: its sizes, some labels, its costs and budgets."""
    rows: list[tuple[Any, ...]] = [
        ("states", f"{shown.n_states:,}", _some(shown.states)),
        ("actions", f"{shown.n_actions:,}", _some(shown.actions)),
        ("observations", f"{shown.n_observations:,}", _some(shown.observations)),
        ("starts in", f"{int((shown.initial_belief > 0).sum()):,} states", ""),
        ("discount", f"{shown.discount:.12g}", ""),
    ]
    for name, budget, cost in zip(shown.costs, shown.budget, shown.cost, strict=True):
        rows.append(
            (
                "cost" if name == "cost" else f"cost {name}",
                f"budget {_limit(budget)}",
                f"at most {cost.max():.6g} a step",
            )
        )
    return table(f"CPOMDP {shown.title}".rstrip(), rows)


def result(shown: Result) -> str:
    """A solver's result: bounds, and what its policy earns and spends."""
    reward, *costs = shown.totals(9)
    of_runs = "" if shown.standard_error is None else " (simulated)"
    rows: list[tuple[Any, ...]] = [
        (f"optimal {shown.objective}", f"between {shown.lower:.9g} and {shown.upper:.9g} (gap {shown.gap:.3g})"),
        ("policy's reward", f"{reward}{of_runs}"),
    ]
    for k, (cost, sure) in enumerate(zip(costs, shown.sure_cost, strict=True)):
        name = f"cost {k + 1}" if shown.model is None else str(shown.model.costs[k])
        rows.append((f"policy's {name if len(costs) > 1 else 'cost'}", f"{cost} expected{of_runs}{_no_more(sure)}"))
    if shown.admissible is not None:
        rows.append(("keeps the budget", "in every history, proven" if shown.admissible else "not proven"))
    rows.append(("policy", repr(shown.policy)))
    rows.append(("time", f"{shown.setup_seconds + shown.seconds:.3g} s"))
    rows += [("to do better", sentence) for sentence in shown.advice]
    return table(f"{shown.solver}: {shown.status}", rows)


def policy(shown: Any, facts: Iterable[Sequence[Any]] = ()) -> str:
    """A policy: its kind, and what it tells of itself."""
    rows = list(facts)
    return table(type(shown).__name__, rows[:_SHOWN] + ([("…", "")] if len(rows) > _SHOWN else []))


def simulation(shown: Simulation) -> str:
    """Simulated runs: means with standard errors, and how many broke a budget."""
    rows: list[tuple[Any, ...]] = [("reward", _estimate(shown.reward), "")]
    for k, name in enumerate(shown.model.costs):
        total, over = shown.undiscounted[k], shown.overspent[k]
        rows.append((name, _estimate(shown.cost[k]), f"budget {_limit(shown.model.budget[k])}"))
        rows.append((f"{name} undiscounted", _estimate(total), f"at most {total.most:.4g}"))
        rows.append((f"{name} spent, by beliefs", _estimate(shown.spent[k]), ""))
        rows.append((f"{name} overspent, by beliefs", _estimate(over), f"at most {over.most:.4g}"))
    if shown.model.n_costs:
        rows.append(("violation rate", _estimate(shown.violation_rate), "of runs expected to spend more than a budget"))
        rows.append(("overrun rate", _estimate(shown.overrun_rate), "of runs spent more than a budget"))
    if shown.deliberate_rate is not None and shown.undecided_rate is not None:
        about = f"of runs overspend though they need not; {shown.undecided_rate.mean:.4g} undecided"
        rows.append(("deliberate rate", _estimate(shown.deliberate_rate), about))
    rows.append(("length", _estimate(shown.length), f"of at most {shown.steps:,} steps"))
    return table(f"{shown.runs:,} runs of {shown.model.title or 'a model'}, seed {shown.seed}", rows)


def verification(shown: Verification) -> str:
    """A verification: what was found, and what was checked."""
    rows: list[tuple[Any, ...]] = []
    if not math.isnan(shown.reward):
        rows.append(("reward", f"{'' if shown.note is None else 'at least '}{shown.reward:.9g}"))
    for k, (cost, most) in enumerate(zip(shown.cost, shown.sure_cost, strict=True)):
        which = f"cost {k + 1}" if len(shown.cost) > 1 else "cost"
        expected = "" if math.isnan(cost) else f"{cost:.9g} expected"
        told = f"{expected}{_no_more(most)}".removeprefix(", ")
        if told:
            rows.append((which, told))
    rows.append(("beliefs checked", f"{shown.beliefs:,}"))
    if shown.unchecked:
        rows.append(("not checked", ", ".join(shown.unchecked)))
    if shown.note is not None:
        rows.append(("note", shown.note))
    if shown.problem is not None:
        rows.insert(0, ("why", shown.problem))
    return table("✓ verified" if shown.verified else "✗ not verified", rows)


def evaluation(shown: Evaluation) -> str:
    """Exact totals of a policy."""
    which = ["cost"] if len(shown.cost) == 1 else [f"cost {k + 1}" for k in range(len(shown.cost))]
    rows = [("reward", f"{shown.reward:.9g}"), *((n, f"{c:.9g}") for n, c in zip(which, shown.cost, strict=True))]
    return table(f"Expected totals, ± {shown.error:.2g}", rows)


def explanation(words: str, belief: Sequence[tuple[str, float]]) -> str:
    """A place of a policy: its belief as bars, and the words on it.

    >>> "width:50.0%" in explanation("at the start", [("left", 0.5), ("right", 0.5)])
    True
    """
    bars = "".join(
        f'<tr><th style="{_NAME}">{in_html(_short(state))}</th>'
        f'<td style="{_CELL};width:12em"><div style="background:currentColor;opacity:0.4;height:0.8em;'
        f'width:{100 * p:.1f}%"></div></td><td style="{_CELL}">{p:.4g}</td></tr>'
        for state, p in belief[:_SHOWN]
    )
    return f'<div><table style="{_TABLE}">{bars}</table><pre style="{_WORDS}">{in_html(words)}</pre></div>'


def inline_page(html: str, height: int) -> str:
    """A whole page inside a cell, apart from the notebook: its script sees nothing of it."""
    box = f"width:100%;height:{height}px;border:1px solid;border-radius:4px"
    return f'<iframe sandbox="allow-scripts" style="{box}" srcdoc="{escape(html)}"></iframe>'


def _some(labels: Sequence[Any]) -> str:
    """The first few labels; a model may have a million of them, made on demand."""
    names = [_short(str(label)) for label in islice(labels, _SHOWN)]
    return ", ".join(names) + (", …" if len(labels) > _SHOWN else "")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _limit(budget: float) -> str:
    return "unlimited" if budget == math.inf else f"{budget:.12g}"


def _no_more(most: float) -> str:
    return f", no history more than {most:.9g}" if math.isfinite(most) else ""


def _estimate(estimate: Estimate | Spread) -> str:
    return f"{estimate.mean:.4g}" + ("" if math.isnan(estimate.se) else f" ± {estimate.se:.2g}")


def _text(value: Any) -> str:
    return in_html(str(value))
