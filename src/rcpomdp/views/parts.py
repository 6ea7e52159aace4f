"""Beliefs over states that have parts: a position and a rock, say, told apart.

Labels that are tuples, also within each other, have their entries for parts, and texts their words. The marginal of a
part is the probability of each of its values, whatever the others are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..model.beliefs import Belief

_SHOWN = 4  # values of a part in words


def marginals(belief: Iterable[tuple[Hashable, float]]) -> list[dict[str, float]]:
    """The marginal of each part, the likeliest value first; none if not all states have the same number of parts.

    >>> marginals([("(1,1) good", 0.3), ("(1,1) bad", 0.5), ("(1,2) bad", 0.2)])
    [{'(1,1)': 0.8, '(1,2)': 0.2}, {'bad': 0.7, 'good': 0.3}]
    >>> marginals([(((1, 2), "wet"), 1.0)])
    [{'1': 1.0}, {'2': 1.0}, {'wet': 1.0}]
    >>> marginals([("left", 0.5), ("far right", 0.5)])
    []
    """
    states = [(_parts(label), p) for label, p in belief]
    sizes = {len(parts) for parts, _ in states}
    if len(sizes) != 1 or sizes == {1}:
        return []
    found: list[dict[str, float]] = [{} for _ in range(sizes.pop())]
    for parts, p in states:
        for values, part in zip(found, parts, strict=True):
            values[part] = values.get(part, 0.0) + p
    return [dict(sorted(values.items(), key=lambda item: -item[1])) for values in found]


def uncertain(model: CPOMDP, belief: Belief) -> dict[int, dict[str, float]]:
    """The marginals of parts that are not sure, by their place from 1, if two parts or more are not: else states tell.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("crs-4-4")
    >>> uncertain(model, rc.beliefs.initial(model))
    {2: {'bad': 0.5, 'good': 0.5}, 3: {'bad': 0.5, 'good': 0.5}, 4: {'bad': 0.5, 'good': 0.5}}
    """
    if belief.states.size == 1:
        return {}
    labels = (model.states[s] for s in belief.states.tolist())
    found = marginals(zip(labels, belief.probabilities.tolist(), strict=True))
    unsure = {place: values for place, values in enumerate(found, 1) if len(values) > 1}
    return unsure if len(unsure) > 1 else {}


def in_words(found: list[dict[str, float]]) -> str:
    """Marginals in a line; what is sure has no probability.

    >>> in_words([{"(1,1)": 1.0}, {"bad": 0.75, "good": 0.25}])
    '(1,1); bad 0.75, good 0.25'
    """
    return "; ".join(
        next(iter(values))
        if len(values) == 1
        else ", ".join(f"{value} {p:.4g}" for value, p in list(values.items())[:_SHOWN])
        + (f", and {len(values) - _SHOWN} more" if len(values) > _SHOWN else "")
        for values in found
    )


@lru_cache(maxsize=2**16)  # beliefs of a page name the same states again and again
def _parts(label: Hashable) -> tuple[str, ...]:
    if isinstance(label, tuple):
        return tuple(part for entry in label for part in (_parts(entry) if isinstance(entry, tuple) else [str(entry)]))
    return tuple(str(label).split())
