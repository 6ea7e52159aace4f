"""Progress of a suite on stderr: a live table on a terminal, and elsewhere one line per finished cell."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..._console import PlainConsole
from ..reproduce import Watch
from ..suites import label
from .record import Cell, Record
from .store import FAILED, canonical

WAITING, RUNNING, DONE, ELSEWHERE = "waiting", "running", "done", "done elsewhere"
_MARGIN = 4  # lines of a terminal that the cells leave free
_NARROWEST = 20  # characters of a cell's label that are shown on the narrowest terminal
_GAPS = 8  # characters between columns and beside them
_FRAMES = 4  # of the live table, a second


class Tally:
    """Cells done and under way, and about how long the rest will take."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self.state: dict[str, str] = {}
        self.line: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._shares: defaultdict[str, list[float]] = defaultdict(list)  # by solver: seconds taken, of the limit
        self.workers = 1
        self.wait = ""  # what is waited for, while there is nothing to do

    def begin(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        """Take note of the cells to be run, and of those that were run before."""
        before = {canonical(cell) for cell in done}
        for cell in cells:
            key = canonical(cell)
            self.cells[key], self.state[key], self.line[key] = cell, DONE if key in before else WAITING, ""

    def running(self, cell: Cell, line: str) -> None:
        """A cell is being run."""
        key, self.wait = canonical(cell), ""
        self._since.setdefault(key, time.monotonic())
        self.state[key], self.line[key] = RUNNING, line

    def finished(self, record: Record, kept: bool) -> None:
        """A cell was run."""
        key = canonical(record.cell)
        took = time.monotonic() - self._since.pop(key, time.monotonic())
        self._shares[record.cell.solver].append(took / record.cell.time_limit)
        self.state[key] = FAILED if record.status == FAILED else DONE if kept else ELSEWHERE
        self.line[key] = outcome(record)

    def elsewhere(self, cells: Sequence[Cell]) -> None:
        """Cells were finished by another process."""
        for cell in cells:
            self.state[canonical(cell)] = ELSEWHERE

    def waits(self, hosts: Sequence[str]) -> None:
        """Others have all that is left."""
        where = " and ".join(sorted(set(hosts)))
        self.wait = f"waiting for {plural(len(hosts))} that another process on {where} is at work on" if hosts else ""

    def tick(self, workers: int) -> None:
        """Time goes by."""
        self.workers = max(1, workers)

    @property
    def settled(self) -> int:
        """Number of cells that are finished."""
        return sum(state in (DONE, ELSEWHERE, FAILED) for state in self.state.values())

    @property
    def left(self) -> str:
        """About how long the rest will take: cells take of their limits what others of their solver took."""
        everything = [share for shares in self._shares.values() for share in shares]
        seconds = 0.0
        for key, cell in self.cells.items():
            if self.state[key] in (WAITING, RUNNING):
                shares = self._shares[cell.solver] or everything or [1.0]
                spent = time.monotonic() - self._since[key] if key in self._since else 0.0
                seconds += max(0.0, float(np.mean(shares)) * cell.time_limit - spent)
        return f"about {duration(seconds / self.workers)} left"


class Lines(Tally):
    """One line per finished cell."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._alone = False  # without workers, and it was said
        self._waits = False  # for others, and it was said

    def begin(self, cells: Sequence[Cell], done: Sequence[Cell]) -> None:
        """Take note of the cells to be run, and of those that were run before."""
        super().begin(cells, done)
        self._say(f"{plural(len(cells))}, {len(done)} of them done before")

    def waits(self, hosts: Sequence[str]) -> None:
        """Others have all that is left."""
        super().waits(hosts)
        if self.wait and not self._waits:
            self._say(self.wait)
            self._waits = True

    def tick(self, workers: int) -> None:
        """Time goes by."""
        if not workers and not self._alone:
            self._say("there are no workers at present; waiting for some")
        self._alone = not workers
        super().tick(workers)

    def finished(self, record: Record, kept: bool) -> None:
        """A cell was run."""
        super().finished(record, kept)
        rest = "" if self.settled == len(self.cells) else f"; {self.left}"
        self._say(f"{self.settled} of {len(self.cells)}: {label(record.cell)}: {outcome(record)}{rest}")


class Screen(Tally):
    """A live table of the cells; what has no room is counted."""

    def __init__(self, console: PlainConsole) -> None:
        super().__init__()
        self._console = console

    def __rich__(self) -> Table:
        table = Table(box=None, header_style="bold", title_justify="left")
        rest = "" if self.settled == len(self.cells) else f", {self.wait or self.left}"
        table.title = Text(f"{self.settled} of {plural(len(self.cells))} done{rest}")
        states = max(map(len, self.state.values()), default=0)
        limits = max(len("limit"), *(len(_limit(cell)) for cell in self.cells.values()), 0)
        labels = max((len(label(cell)) for cell in self.cells.values()), default=0)
        labels = min(labels, max(_NARROWEST, (self._console.width - limits - states) // 2))
        rest_of_line = max(1, self._console.width - labels - limits - states - _GAPS)
        table.add_column("cell", no_wrap=True, max_width=labels)
        table.add_column("limit", no_wrap=True, justify="right", width=limits)
        table.add_column("", no_wrap=True, width=states)
        table.add_column("how it goes", no_wrap=True, max_width=rest_of_line)
        room = max(3, self._console.height - _MARGIN)
        shown = self._chosen(room)
        for key, cell in self.cells.items():
            if key in shown:
                state = self.state[key]
                table.add_row(label(cell), _limit(cell), Text(state, style=_STYLES[state]), self.line[key])
        return table

    def _chosen(self, room: int) -> set[str]:
        """Those to show: all, or else what is running, then what comes next, then what was last."""
        if len(self.cells) <= room:
            return set(self.cells)
        by_state = defaultdict(list)
        for key, state in self.state.items():
            by_state[state].append(key)
        settled = [*by_state[ELSEWHERE], *by_state[DONE], *by_state[FAILED]]
        ranked = [*by_state[RUNNING], *by_state[WAITING][: room // 3], *reversed(settled), *by_state[WAITING]]
        return set(list(dict.fromkeys(ranked))[:room])


def _limit(cell: Cell) -> str:
    return f"{cell.time_limit:g} s"


_STYLES = {WAITING: "dim", RUNNING: "cyan", DONE: "green", ELSEWHERE: "green", FAILED: "red"}


@contextmanager
def watching(say: Callable[[str], None]) -> Iterator[Watch]:
    """Somebody to tell how it goes, who tells the user."""
    console = PlainConsole(stderr=True)
    if not console.is_terminal:
        yield Lines(say)
        return
    screen = Screen(console)
    with Live(screen, console=console, refresh_per_second=_FRAMES):
        yield screen


def outcome(record: Record) -> str:
    """Outcome of a cell in a few words."""
    if record.status == FAILED:
        return f"failed: {record.error}"
    lower = "-∞" if record.lower is None else f"{record.lower:.5g}"
    upper = "∞" if record.upper is None else f"{record.upper:.5g}"
    found = "" if record.lower is None and record.upper is None else f", optimum in [{lower}, {upper}]"
    mean = f", mean reward {record.run_reward.mean():.4g}" if len(record.run_reward) else ""
    return f"{record.status}{found}{mean}, {duration(record.setup_seconds + record.seconds)}"


def plural(cells: int) -> str:
    """So many cells.

    >>> plural(1), plural(2)
    ('1 cell', '2 cells')
    """
    return f"{cells} cell{'' if cells == 1 else 's'}"


def duration(seconds: float) -> str:
    """Seconds as a person reads them.

    >>> [duration(s) for s in (0.24, 59, 61, 7300)]
    ['0.2 s', '59 s', '1 min', '2 h 2 min']
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
