"""A controller's graph as a picture: SVG that takes the colours of the page it stands in.

Nodes stand in columns by the least number of steps to them. Arrows that lead on go from side to side, those that lead
back below, those of a node to itself above it; what is observed stands at their beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from .._plain_text import in_html

if TYPE_CHECKING:
    from .graph import Edge, PolicyGraph

_WIDE, _HIGH = 116, 30  # a node
_COLUMN, _ROW = 250, 74  # from one to the next
_MARGIN = 46  # around all
_SHOWN = 17  # letters of a label
_STYLE = (
    "#{name}{{font:12px system-ui,sans-serif;text-anchor:middle}}#{name} text{{fill:currentColor}}"
    "#{name} .seen{{font-size:10.5px;opacity:.8;text-anchor:start}}"
    "#{name} rect,#{name} path{{fill:none;stroke:currentColor}}#{name} path{{opacity:.55}}"
    "#{name} .more{{stroke-dasharray:4 3}}"
)
_HEAD = (
    '<marker id="{name}-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0 0.8, 8 4, 0 7.2" fill="currentColor"/></marker>'
)


class _Spot(NamedTuple):
    """The middle of a node."""

    x: float
    y: float


def svg(graph: PolicyGraph) -> str:
    """The picture of a graph.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> svg(rc.policies.policy_graph(rc.policies.blind(model, "listen"), model)).count("<rect")
    1
    """
    spots = _spots(graph)
    lowest = max((spot.y for spot in spots), default=0.0)
    back = any(spots[edge.target].x < spots[edge.source].x for edge in graph.edges)
    width = max((spot.x for spot in spots), default=0.0) + _WIDE / 2 + _MARGIN
    height = lowest + _HIGH / 2 + (_MARGIN if back or graph.omitted else 16)
    name = f"graph-{crc32(repr(graph).encode()):08x}"  # a page may hold several pictures
    words = f"{graph.name or 'A controller'}: {len(graph.nodes)} nodes" + (
        f", and {graph.omitted:,} that are not shown" if graph.omitted else ""
    )
    more = (
        [f'<text x="{width / 2:g}" y="{height - 8:g}">and {graph.omitted:,} more nodes</text>'] if graph.omitted else []
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{in_html(words)}">',
            f"<style>{_STYLE.format(name=name)}</style>",
            f"<defs>{_HEAD.format(name=name)}</defs>",
            *_starts(graph, spots, name),
            *(line for edge in graph.edges for line in _arrow(edge, spots, name)),
            *(line for i in range(len(graph.nodes)) for line in _node(graph, i, spots[i])),
            *more,
            "</svg>",
        ]
    )


def _spots(graph: PolicyGraph) -> list[_Spot]:
    """The places of nodes: columns by steps from the nearest start, rows in the order in which they are met."""
    steps = {start.node: 0 for start in graph.starts}
    following: dict[int, list[int]] = {}
    for edge in graph.edges:
        following.setdefault(edge.source, []).append(edge.target)
    queue = list(steps)
    for node in queue:
        for target in following.get(node, []):
            if target not in steps:
                steps[target] = steps[node] + 1
                queue.append(target)
    rows: dict[int, int] = {}
    spots = []
    for node in range(len(graph.nodes)):
        column = steps.get(node, 0)
        row = rows[column] = rows.get(column, -1) + 1
        spots.append(_Spot(_MARGIN + _WIDE / 2 + _COLUMN * column, _MARGIN + _HIGH / 2 + _ROW * row))
    return spots


def _node(graph: PolicyGraph, i: int, spot: _Spot) -> Iterator[str]:
    node = graph.nodes[i]
    dashed = ' class="more"' if i in graph.cut else ""
    box = f'x="{spot.x - _WIDE / 2:g}" y="{spot.y - _HIGH / 2:g}" width="{_WIDE}" height="{_HIGH}" rx="8"'
    yield f"<g><title>{in_html(f'node {i + 1}: {node.action}')}</title><rect {box}{dashed}/>"
    yield f'<text x="{spot.x:g}" y="{spot.y + 4:g}">{in_html(_cut(node.action))}</text></g>'


def _starts(graph: PolicyGraph, spots: list[_Spot], name: str) -> Iterator[str]:
    for start in graph.starts:
        x, y = spots[start.node]
        left = x - _WIDE / 2
        yield f'<path d="M{left - 30:g} {y:g} H{left - 1:g}" marker-end="url(#{name}-head)"/>'
        if len(graph.starts) > 1:
            yield f'<text class="seen" x="{left - 40:g}" y="{y - 7:g}">{start.weight:.4g}</text>'


def _arrow(edge: Edge, spots: list[_Spot], name: str) -> Iterator[str]:
    a, b = spots[edge.source], spots[edge.target]
    if edge.source == edge.target:
        top = a.y - _HIGH / 2
        way = f"M{a.x - 14:g} {top:g} C{a.x - 30:g} {top - 26:g} {a.x + 30:g} {top - 26:g} {a.x + 14:g} {top:g}"
        word = _Spot(a.x + 20, top - 10)
    elif b.x < a.x:
        start, end, low = a.y + _HIGH / 2, b.y + _HIGH / 2, max(a.y, b.y) + _HIGH / 2 + 34
        way = f"M{a.x - 10:g} {start:g} C{a.x - 30:g} {low:g} {b.x + 40:g} {low:g} {b.x + 20:g} {end:g}"
        word = _Spot(a.x - 4, start + 13)
    elif b.x == a.x:
        side = a.x + _WIDE / 2
        way = f"M{side:g} {a.y + 6:g} C{side + 40:g} {a.y + 6:g} {side + 40:g} {b.y:g} {side + 1:g} {b.y:g}"
        word = _Spot(side + 12, a.y + (18 if b.y > a.y else -10))
    else:
        start, end = a.x + _WIDE / 2, b.x - _WIDE / 2
        bend = 0.45 * (end - start)
        way = f"M{start:g} {a.y:g} C{start + bend:g} {a.y:g} {end - bend:g} {b.y:g} {end - 1:g} {b.y:g}"
        word = _Spot(start + 0.3 * (end - start), a.y + 0.28 * (b.y - a.y) - 4)
    seen = ", ".join(edge.observations)
    yield f'<path d="{way}" marker-end="url(#{name}-head)"><title>{in_html(seen)}</title></path>'
    yield f'<text class="seen" x="{word.x:g}" y="{word.y:g}">{in_html(_brief(edge.observations))}</text>'


def _brief(observations: Iterable[str]) -> str:
    first, *others = observations
    return _cut(first) + (f" +{len(others)}" if others else "")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
