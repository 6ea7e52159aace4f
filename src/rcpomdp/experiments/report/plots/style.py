"""One look for all plots: a colour and a marker per algorithm, and files that are the same for the same data.

The colours are Okabe and Ito's, which colour-blind readers tell apart, the light ones darkened so that all of them
stand out from white and from black alike.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from ...._plain_text import in_html

INK, FAINT, PAPER, DANGER = "#24292f", "#8b9199", "#ffffff", "#d1443c"
SVG, PNG = FORMATS = ("svg", "png")

# Algorithm -> colour, marker
_LOOKS = {
    "CGCP": ("#0072b2", "o"),
    "CGCP-CL": ("#3a9bd9", "s"),
    "Exp-Gradient": ("#d98200", "^"),
    "CPBVI": ("#c0679b", "D"),
    "CPBVI-D": ("#d55e00", "v"),
    "ARCS": ("#009e73", "*"),
    "SARSOP": ("#7a7f87", "P"),
}
_OTHERS = (("#8c6d1f", "X"), ("#6f5bb5", "h"), ("#5b8c2a", "p"), ("#a23b6b", "d"))
_FITTING = r'\1 style="width: \2pt; min-width: min(\2pt, 32rem)"'  # shrinks as far as it can be read, then scrolls
_LONGEST = 100  # characters of a name, of which file systems take 255 bytes
_LABELLED = 'aria-labelledby="title desc"'
_DASHES = ("-", "--", ":", "-.")
_RC: dict[str, Any] = {
    "svg.hashsalt": "rcpomdp",
    "svg.fonttype": "none",  # text stays text: small files, and readers can search and select it
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so that sizes are the same everywhere
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "savefig.facecolor": PAPER,
}


@dataclass(frozen=True)
class Plot:
    """A figure and the words that go with it."""

    name: str  # of its file, without ending
    title: str
    caption: str
    description: str  # what it shows, for those who cannot see it
    figure: Figure


def colour(algorithm: str) -> str:
    """The colour of an algorithm, the same in all plots; variants, named after a comma, share it."""
    return _look(algorithm)[0]


def marker(algorithm: str) -> str:
    """The marker of an algorithm."""
    return _look(algorithm)[1]


def marker_size(algorithm: str) -> float:
    """The size at which markers look alike."""
    return 11.0 if marker(algorithm) == "*" else 6.5


def dashes(labels: Iterable[str]) -> dict[str, str]:
    """A line style per label, so that variants of one algorithm are told apart."""
    seen: dict[str, int] = {}
    found: dict[str, str] = {}
    for label in labels:
        if label not in found:
            base = label.partition(",")[0]
            found[label] = _DASHES[seen.get(base, 0) % len(_DASHES)]
            seen[base] = seen.get(base, 0) + 1
    return found


@contextmanager
def look() -> Iterator[None]:
    """The settings under which plots are made and written."""
    with mpl.rc_context(_RC):  # type: ignore[arg-type]  # its keys are settings' names
        yield


def panels(
    count: int, width: float = 3.3, height: float = 2.7, most: int = 3, room: float = 0.5, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, at most so many side by side, and room for a legend below."""
    columns = min(most, math.ceil(math.sqrt(count)) if count > most else count)
    rows = -(-count // columns)
    size = (max(4.2, width * columns), height * rows + room)
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, **shared).flat)
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def logarithmic(ax: Axes, which: str) -> None:
    """Logarithmic axes, "x", "y" or "xy", over at least two powers of ten, with numbers at those alone."""
    ax.set(**{f"{name}scale": "log" for name in which})
    for name in which:
        axis = ax.xaxis if name == "x" else ax.yaxis
        axis.set_minor_formatter(NullFormatter())
        low, high = sorted(axis.get_view_interval())
        if math.floor(math.log10(high)) <= math.ceil(math.log10(low)):
            ends = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
            ax.set(**{f"{name}lim": ends})


def legend(figure: Figure, handles: list[Line2D]) -> None:
    """A legend below all panels: in one row if that has room, else in as few as there can be."""
    look: dict[str, Any] = {"handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.1}
    for columns in range(len(handles), 0, -1):
        drawn = figure.legend(handles=handles, loc="outside lower center", ncols=columns, **look)
        if columns == 1 or drawn.get_window_extent().width <= figure.bbox.width:
            return
        drawn.remove()


def key(algorithm: str, **more: Any) -> Line2D:
    """An algorithm's entry in a legend."""
    settings: dict[str, Any] = {"marker": marker(algorithm), "markersize": marker_size(algorithm)} | more
    return Line2D([], [], color=colour(algorithm), label=algorithm, **settings)


def hollow_key(words: str) -> Line2D:
    """An entry of a legend that says what hollow markers mean."""
    return Line2D([], [], color=FAINT, marker="o", markersize=6.5, markerfacecolor="none", linestyle="", label=words)


def slug(text: str) -> str:
    """A text as part of the name of a file or a mark in a page: small letters, digits, dots and dashes."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower().replace("ĉ", "c")).strip("-")[:_LONGEST]


def svg(plot: Plot) -> str:
    """A plot as SVG with its title and description inside, on white."""
    return _svg(plot, transparent=False)


def inline_svg(plot: Plot) -> str:
    """A plot as SVG for a page: on the page's background, with the page's colour of text, and names of its own."""
    drawn = _svg(plot, transparent=True)
    drawn = drawn[drawn.index("<svg") :].replace(INK, "currentColor")
    drawn = re.sub(r'\bid="([^"]+)"', rf'id="{plot.name}-\1"', drawn)
    drawn = drawn.replace(_LABELLED, f'aria-labelledby="{plot.name}-title {plot.name}-desc"', 1)
    drawn = re.sub(r"url\(#([^)]+)\)", rf"url(#{plot.name}-\1)", drawn)
    drawn = re.sub(r'href="#([^"]+)"', rf'href="#{plot.name}-\1"', drawn)
    return re.sub(r'(<svg[^>]*?) width="([\d.]+)pt" height="[\d.]+pt"', _FITTING, drawn, count=1)


def png(plot: Plot) -> bytes:
    """A plot as PNG, sharp enough for print."""
    buffer = io.BytesIO()
    with look():
        plot.figure.savefig(buffer, format=PNG, dpi=200, metadata={"Software": None, "Title": plot.title})
    return buffer.getvalue()


def _look(algorithm: str) -> tuple[str, str]:
    base = algorithm.partition(",")[0]
    return _LOOKS.get(base) or _OTHERS[crc32(base.encode()) % len(_OTHERS)]


def _svg(plot: Plot, transparent: bool) -> str:
    buffer = io.BytesIO()
    with look():
        plot.figure.savefig(
            buffer, format=SVG, transparent=transparent, metadata={"Date": None, "Creator": None, "Type": None}
        )
    drawn = buffer.getvalue().decode()
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", drawn, flags=re.S)
    drawn = re.sub(r"\s*<!DOCTYPE[^>]*>", "", drawn)  # its address is no part of a page that needs no net
    end = drawn.index(">", drawn.index("<svg")) + 1
    words = f'<title id="title">{in_html(plot.title)}</title><desc id="desc">{in_html(plot.description)}</desc>'
    named = f'{drawn[: end - 1]} role="img" {_LABELLED}>'
    return named + words + drawn[end:]
