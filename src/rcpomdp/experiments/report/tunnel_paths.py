"""Paths of simulated runs through the tunnels, and where they end."""

from __future__ import annotations

from collections import Counter

from ... import problems
from ...problems.tunnels import LAST_CELL, OUT, PRIZE
from .summaries import Row

Place = tuple[int, int]  # tunnel and cell; (0, 0) is the hall
HALL: Place = (0, 0)


def paths_of(row: Row) -> dict[tuple[Place, ...], float]:
    """Sequences of places and the share of runs that took each, the most frequent first."""
    model = problems.make("tunnels", **row.cell.parameters)
    places = [_place(str(state)) for state in model.states]
    count: Counter[tuple[Place, ...]] = Counter()
    for record in row.records:
        for path in record.paths:
            walked = (places[s] for s in path if s >= 0)
            count[tuple(place for place in walked if place is not None)] += 1
    total = sum(count.values())
    return {path: n / total for path, n in count.most_common()}


def ends(paths: dict[tuple[Place, ...], float]) -> dict[int, float]:
    """The share of runs that end in each tunnel."""
    return {t: sum(s for path, s in paths.items() if path and path[-1] == (t, LAST_CELL)) for t in PRIZE}


def _place(state: str) -> Place | None:
    """The place that a state's label begins with; None after the end."""
    if state == OUT:
        return None
    words = state.split(maxsplit=1)[0].split("-")
    return HALL if words == ["hall"] else (int(words[1]), int(words[3]))
