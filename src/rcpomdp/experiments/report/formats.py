"""A table as text: for a terminal, Markdown, LaTeX, HTML or CSV.

Colours are never alone: where there is no LaTeX to set them as the paper does, the reward that is best of those in
violation carries a †, the best of those that keep the budget a ‡.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from ..._console import PlainConsole
from ..._plain_text import in_html
from ..run.record import Record
from .marks import BEST, KEEPING, VIOLATING
from .tables import Column, Entry, Table, data, table

RICH, MARKDOWN, LATEX, CSV, HTML = FORMATS = ("rich", "markdown", "latex", "csv", "html")

_SIGN = {VIOLATING: "†", KEEPING: "‡"}
_STYLE = {BEST: "bold", VIOLATING: "bold blue", KEEPING: "bold green"}
_MEANING = {
    BEST: "bold: the best violation rates",
    VIOLATING: "blue, †: the highest reward of those that violate the budget in some run",
    KEEPING: "green, ‡: the highest reward of those that never do",
}


def render(records: Sequence[Record], form: str, layout: str | None = None, title: str = "") -> str:
    """Records as a table in one of the `FORMATS`."""
    if form == CSV:
        return csv_text(records)
    return {RICH: rich_text, MARKDOWN: markdown, LATEX: latex, HTML: html}[form](table(records, layout, title))


def legend(shown: Table) -> list[str]:
    """The sentences below a table: what its marks mean, and its notes."""
    meaning = [_MEANING[mark] for mark in shown.marks] if VIOLATING in shown.marks or KEEPING in shown.marks else []
    sentence = f"{'; '.join(meaning)}." if meaning else ""
    return [part for part in (sentence[:1].upper() + sentence[1:], *shown.notes) if part]


def rich_table(shown: Table) -> RichTable:
    """A table for a terminal."""
    drawn = RichTable(box=None, header_style="bold", title=shown.title or None, title_justify="left")
    over = any(column.over for column in shown.columns)
    for column in shown.columns:
        title = f"{column.over}\n{column.title}" if over else column.title
        drawn.add_column(title, justify="right" if column.number else "left", no_wrap=True)
    for block in shown.blocks:
        for number, row in enumerate(block):
            cells = [
                Text("") if column.once and number else Text(_signed(entry), style=_STYLE.get(entry.mark, ""))
                for column, entry in zip(shown.columns, row, strict=True)
            ]
            drawn.add_row(*cells, end_section=number == len(block) - 1)
        drawn.add_section()
    return drawn


def print_rich(shown: Table) -> None:
    """A table on the terminal, in colours and whole even where the window is too narrow for it."""
    console = PlainConsole()
    drawn = rich_table(shown)
    console.width = max(console.width, console.measure(drawn, options=console.options.update(width=1000)).maximum)
    console.print(drawn, crop=False)
    for sentence in legend(shown):
        print(sentence)


def rich_text(shown: Table) -> str:
    """A table for a terminal as it looks without colours, however wide it is."""
    buffer = io.StringIO()
    console = PlainConsole(file=buffer, width=1000)
    console.print(rich_table(shown))
    for sentence in legend(shown):
        console.print(sentence)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def markdown(shown: Table) -> str:
    """A table of GitHub's Markdown."""
    titles = [": ".join(filter(None, (column.over, column.title))) for column in shown.columns]
    lines = [_bars(titles), _bars(["---:" if column.number else ":---" for column in shown.columns])]
    for block in shown.blocks:
        for number, row in enumerate(block):
            cells = zip(shown.columns, row, strict=True)
            lines.append(_bars(["" if c.once and number else _markdown_entry(entry) for c, entry in cells]))
    head = [f"**{_markdown_text(shown.title)}**", ""] if shown.title else []
    return "\n".join([*head, *lines, "", *(f"{_markdown_text(note)}  " for note in legend(shown))]).rstrip() + "\n"


def html(shown: Table) -> str:
    """A table of HTML without style of its own: marks are classes. A problem has a line above its rows."""
    columns = [column for column in shown.columns if not column.once]
    over = any(column.over for column in columns)
    lines = ["<table>"]
    if shown.title:
        lines.append(f"<caption>{in_html(shown.title)}</caption>")
    lines.append("<thead>")
    if over:
        lines.append(f"<tr>{''.join(_html_over(columns))}</tr>")
    own = [column for column in columns if column.over or not over]
    lines += [f"<tr>{''.join(_html_title(column) for column in own)}</tr>", "</thead>"]
    for block in shown.blocks:
        lines += ["<tbody>", *_html_problem(shown.columns, block[0], len(columns))]
        for row in block:
            (_, first), *rest = [(c, e) for c, e in zip(shown.columns, row, strict=True) if not c.once]
            name = f'<th scope="row">{in_html(first.text)}</th>'
            lines.append(f"<tr>{name}{''.join(_html_entry(c, entry) for c, entry in rest)}</tr>")
        lines.append("</tbody>")
    lines.append("</table>")
    notes = [f'<p class="note">{in_html(note)}</p>' for note in legend(shown)]
    return "\n".join([*lines, *(['<div class="notes">', *notes, "</div>"] if notes else [])]) + "\n"


def latex(shown: Table) -> str:
    """A table of LaTeX with the paper's colours."""
    over = any(column.over for column in shown.columns)
    lines = [
        r"% needs \usepackage{multirow} and \usepackage{xcolor}",
        r"\definecolor{DarkBlue}{rgb}{0,0,0.55}\definecolor{DarkGreen}{rgb}{0,0.39,0}",
        r"\begin{table*}[t]",
        r"\centering",
    ]
    notes = " ".join(_latex_text(note) for note in (shown.title and f"{shown.title}.", *_latex_legend(shown)) if note)
    lines += [
        rf"\caption{{{notes}}}",
        rf"\begin{{tabular}}{{{' '.join('c' if column.number else 'l' for column in shown.columns)}}}",
    ]
    if over:
        lines.append(" & ".join(_latex_over(shown.columns)) + r" \\")
    lines += [" & ".join(_latex_text(column.title) for column in shown.columns) + r" \\", r"\hline"]
    for block in shown.blocks:
        for number, row in enumerate(block):
            cells = zip(shown.columns, row, strict=True)
            lines.append(" & ".join(_latex_entry(c, entry, number, len(block)) for c, entry in cells) + r" \\")
        lines.append(r"\hline")
    return "\n".join([*lines, r"\end{tabular}", r"\end{table*}", ""])


def csv_text(records: Sequence[Record]) -> str:
    """One line per row with every number in full; several costs are set apart by semicolons."""
    rows = [{name: _csv_value(value) for name, value in row.items()} for row in data(records)]
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


# Within


def _signed(entry: Entry) -> str:
    return f"{entry.text} {_SIGN[entry.mark]}" if entry.mark in _SIGN else entry.text


def _bars(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_entry(entry: Entry) -> str:
    text = _markdown_text(entry.text)
    return f"**{text}** {_SIGN.get(entry.mark, '')}".rstrip() if entry.mark else text


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", " ".join(text.split()))


def _html_over(columns: Sequence[Column]) -> list[str]:
    """The upper line of a head: what several columns have in common, and the columns that stand alone."""
    parts = []
    for key, same in groupby(columns, key=lambda column: column.over):
        own = list(same)
        if key:
            parts.append(f'<th colspan="{len(own)}" scope="colgroup">{in_html(key)}</th>')
        else:
            parts += [_html_title(column, ' rowspan="2"') for column in own]
    return parts


def _html_title(column: Column, extra: str = "") -> str:
    kind = ' class="number"' if column.number else ""
    return f'<th scope="col"{kind}{extra}>{in_html(column.title)}</th>'


def _html_problem(columns: Sequence[Column], row: Sequence[Entry], width: int) -> list[str]:
    """The line above a problem's rows, if there is one: its name, and what else is said of it once."""
    once = [(column.title, in_html(entry.text)) for column, entry in zip(columns, row, strict=True) if column.once]
    words = [text if not i else f"<small>{in_html(title)}: {text}</small>" for i, (title, text) in enumerate(once)]
    return [f'<tr><th scope="rowgroup" colspan="{width}"><span>{" ".join(words)}</span></th></tr>'] if once else []


def _html_entry(column: Column, entry: Entry) -> str:
    names = " ".join(filter(None, ("number" if column.number else "", entry.mark)))
    sign = f"<sup>{_SIGN[entry.mark]}</sup>" if entry.mark in _SIGN else ""
    kind = f' class="{names}"' if names else ""
    return f"<td{kind}>{in_html(entry.text)}{sign}</td>"


def _latex_legend(shown: Table) -> list[str]:
    return [re.sub(r", [†‡]", "", sentence) for sentence in legend(shown)]


def _latex_over(columns: Sequence[Column]) -> list[str]:
    spans = [(key, len(list(same))) for key, same in groupby(column.over for column in columns)]
    return [rf"\multicolumn{{{n}}}{{c}}{{{_latex_text(key)}}}" if key else " & " * (n - 1) for key, n in spans]


def _latex_entry(column: Column, entry: Entry, number: int, rows: int) -> str:
    if column.once:
        return "" if number else rf"\multirow{{{rows}}}{{*}}{{{_latex_text(entry.text)}}}"
    if not column.number or not re.search(r"\d", entry.text):
        return _latex_text(entry.text)
    mean, _, error = entry.text.replace("−", "-").partition(" ± ")
    if re.search(r"[^\d.+,-]", mean + error):
        return _latex_text(entry.text)
    colour = {VIOLATING: r"\color{DarkBlue}", KEEPING: r"\color{DarkGreen}"}.get(entry.mark, "")
    shown = rf"\mathbf{{{mean}}}" if entry.mark else mean
    spread = rf" \pm {error}" if error else ""
    return f"${colour}{shown}{spread}$"


_LATEX: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"[\\]", r"\\textbackslash "),
    (r"([&%$#_{}])", r"\\\1"),
    (r"~", r"\\textasciitilde "),
    (r"\^", r"\\textasciicircum "),
    (r"ĉ", r"$\\hat{c}$"),
    (r"±", r"$\\pm$"),
    (r"−", r"$-$"),
    (r"∞", r"$\\infty$"),
    (r"Δ", r"$\\Delta$"),
    (r"–", r"--"),
]


def _latex_text(text: str) -> str:
    for pattern, instead in _LATEX:
        text = re.sub(pattern, instead, text)
    return text


def _csv_value(value: Any) -> Any:
    if isinstance(value, dict):
        return "; ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join("" if item is None else str(item) for item in value)
    return value
