"""One page with all that a store knows: tables, plots, settings, machine, and how to reproduce it.

The page is whole by itself: plots are inlined as SVG and take their colours from the page, which is light or dark as
the reader has it and light in print.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from ..._plain_text import in_html
from .. import suites
from ..run.record import Record
from . import formats, tables
from .plots import plots
from .plots.style import Plot, inline_svg, slug
from .selection import suites as suites_of
from .summaries import failed

_TITLE = "Experiments with recursively-constrained POMDPs"


def report(records: Sequence[Record], store: str = "runs.db") -> str:
    """The page for some records, which are in a store of that name."""
    by_suite = {name: [r for r in records if r.cell.suite == name] for name in suites_of(list(records))}
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{_TITLE}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<header>",
            f"<h1>{_TITLE}</h1>",
            *_overview(records, by_suite),
            "</header>",
            "<main>",
            *(line for name, own in by_suite.items() for line in _suite(name, own, store)),
            *_circumstances(records),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def commands(name: str, records: Sequence[Record], store: str) -> list[str]:
    """The commands that make these records; a remark tells if they make more. An unknown suite has none."""
    if name not in suites.names():
        return []
    suite = suites.get(name)
    everything = suite.cells()
    usual = {(cell.title, cell.algorithm): cell for cell in everything}
    seeds = 1 + max(record.cell.seed for record in records)
    found: dict[str, set[str]] = {}
    for cell in (record.cell for record in records):
        as_asked = usual.get((cell.title, cell.algorithm), cell)
        own = as_asked.time_limit
        words = ["rcpomdp reproduce", name]
        if abs(cell.time_limit / own - 1) > 1e-9:
            words.append(f"--time-limit {_number(_limit(cell.time_limit, own, suite.limit))}")
        step = [c.options["step_time"] for c in _cells(records, cell.time_limit) if "step_time" in c.options]
        if step and step[0] != cell.time_limit:
            words.append(f"--step-time {_number(step[0])}")
        if seeds > 1:
            words.append(f"--seeds {seeds}")
        if cell.runs < as_asked.runs:
            words.append(f"--runs {cell.runs}")
        command = " ".join([*words, f"--store {shlex.quote(store)}"])
        found.setdefault(command, set()).add(suites.label(replace(cell, seed=0)))
    return [command + _part(len(labels), len(everything)) for command, labels in found.items()]


def _part(here: int, cells: int) -> str:
    """A remark for the shell if not all cells of a suite are here."""
    return "" if here >= cells else f"  # here: {here} of {_plural(cells, 'cell')}; --only and --skip choose"


def _limit(seconds: float, usual: float, of_suite: float) -> float:
    """The ``--time-limit`` at which a suite gives a cell so many seconds, exactly where rounding allows."""
    about = of_suite * (seconds / usual)
    near = (float(f"{about:.12g}"), about, math.nextafter(about, 0), math.nextafter(about, math.inf))
    return next((limit for limit in near if usual * (limit / of_suite) == seconds), about)


def _number(value: float) -> str:
    """A number in full, and as short as that can be.

    >>> _number(30.0), _number(1234567.0), _number(0.1 + 0.2)
    ('30', '1234567', '0.30000000000000004')
    """
    return repr(value).removesuffix(".0")


def _cells(records: Sequence[Record], time_limit: float) -> list[Any]:
    return [record.cell for record in records if record.cell.time_limit == time_limit]


def _overview(records: Sequence[Record], by_suite: dict[str, list[Record]]) -> list[str]:
    lost = sum(map(failed, records))
    days = sorted({stamp[:10] for record in records for stamp in (record.started, record.finished)})
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    spent = sum(r.setup_seconds + r.seconds + r.simulation_seconds for r in records)
    runs = sum(len(record.run_reward) for record in records)
    words = (
        f"{len(records):,} solves in {_plural(len(by_suite), 'suite')} and {runs:,} simulated runs, {period}: "
        f"{_duration(spent)} of computation. {_plural(lost, 'solve').capitalize()} failed."
    )
    links = [f'<li><a href="#{slug(name)}">{in_html(name)}</a>: {in_html(_summary(name))}</li>' for name in by_suite]
    return [
        f"<p>{in_html(words)}</p>",
        '<nav aria-label="Contents">',
        "<ul>",
        *links,
        '<li><a href="#circumstances">Settings, versions and machine</a></li>',
        "</ul>",
        "</nav>",
    ]


def _suite(name: str, records: list[Record], store: str) -> list[str]:
    """A section: its table, its plots, and the command that makes it."""
    shown = tables.table(records, title=f"Results of {name}")
    lines = [
        f'<section id="{slug(name)}">',
        f"<h2>{in_html(name)}</h2>",
        f"<p>{in_html(_sentence(name, records))}</p>",
        f'<div class="scroll" role="region" tabindex="0" aria-label="Table of {in_html(name)}">',
        formats.html(shown).rstrip(),
        "</div>",
    ]
    drawn = [replace(plot, name=f"{slug(name)}-{plot.name}") for plot in plots(records)]
    if drawn:
        figures = [line for n, plot in enumerate(drawn, 1) for line in _figure(plot, f"{name}, figure {n}")]
        lines += ['<div class="figures">', *figures, "</div>"]
    told = commands(name, records, store)
    if told:
        lines += ["<h3>To reproduce it</h3>", f"<pre><code>{in_html(chr(10).join(told))}</code></pre>"]
    return [*lines, "</section>"]


def _figure(plot: Plot, number: str) -> list[str]:
    return [
        "<figure>",
        f'<div class="scroll" role="region" tabindex="0" aria-label="{in_html(plot.title)}">',
        inline_svg(plot).rstrip(),
        "</div>",
        f"<figcaption><b>{in_html(plot.title)}.</b> {in_html(plot.caption)}",
        f"<small>({in_html(number)})</small></figcaption>",
        "</figure>",
    ]


def _circumstances(records: Sequence[Record]) -> list[str]:
    settings = dict.fromkeys(
        (
            record.cell.suite,
            record.cell.algorithm,
            record.cell.solver,
            _pairs(record.cell.options),
            f"{record.cell.time_limit:g} s",
            f"{record.cell.runs:,}",
            f"{record.cell.steps:,}",
        )
        for record in records
    )
    versions = dict.fromkeys(_pairs(record.versions) for record in records)
    machines = dict.fromkeys(_machine(record.machine) for record in records)
    first, last = min(record.started for record in records), max(record.finished for record in records)
    return [
        '<section id="circumstances">',
        "<h2>Settings, versions and machine</h2>",
        *(f"<p>Versions: {in_html(text)}.</p>" for text in versions),
        *(f"<p>Machine: {in_html(text)}.</p>" for text in machines),
        f"<p>The first solve began at {in_html(first)}, the last run ended at {in_html(last)}.</p>",
        '<div class="scroll" role="region" tabindex="0" aria-label="Settings">',
        "<table>",
        "<caption>What was asked of each algorithm</caption>",
        _row(("Suite", "Algorithm", "Solver", "Options", "Limit", "Runs", "Steps"), "th"),
        *(_row(setting) for setting in settings),
        "</table>",
        "</div>",
        "</section>",
    ]


def _summary(name: str) -> str:
    return suites.get(name).summary if name in suites.names() else "other runs"


def _sentence(name: str, records: Sequence[Record]) -> str:
    limits = sorted({record.cell.time_limit for record in records})
    runs = sorted({len(record.run_reward) for record in records if len(record.run_reward)})
    simulated = f", simulated {_range(runs)} times" if runs else ""
    summary = _summary(name)
    return (
        f"{summary[:1].upper()}{summary[1:]}. {_plural(len(records), 'solve')} "
        f"of at most {_range(limits)} s each{simulated}."
    )


def _range(values: Sequence[float]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"


def _machine(machine: dict[str, Any]) -> str:
    memory = machine.get("memory")
    parts = [str(machine.get("processor") or "unknown processor"), f"{machine.get('cores')} cores"]
    parts += [f"{memory / 2**30:.0f} GiB"] if isinstance(memory, int | float) else []
    return ", ".join([*parts, str(machine.get("system") or "unknown system")])


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _row(cells: Iterable[str], kind: str = "td") -> str:
    scope = ' scope="col"' if kind == "th" else ""
    return f"<tr>{''.join(f'<{kind}{scope}>{in_html(cell)}</{kind}>' for cell in cells)}</tr>"


def _duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> _duration(50), _duration(600), _duration(9000)
    ('50 seconds', '10 minutes', '2.5 hours')
    """
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}" if count else f"no {noun}"
