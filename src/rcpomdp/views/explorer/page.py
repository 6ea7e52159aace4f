"""A policy as one HTML file to click through: its data, style and script are inside, and nothing is fetched.

The page holds each policy's graph of histories (`walk`), and for each belief its likeliest states, the overlay of
its drawing (`drawing`) and what is proven of every action (`alternatives`). What is left of the budget, and the
verdicts on actions that follow from it, are worked out while walking, by the same rules as in `explanation`; of a proof
the page has the budgets that it names, where an explanation asks for what is left. Numbers are rounded to 9 digits,
those that are compared with a budget to 14.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ... import __version__, tolerance
from ..._json_values import finite
from ..._plain_text import in_html, printable
from ..._types import FloatArray
from ...errors import InputError
from ...model import CPOMDP
from ...model.beliefs import Belief
from ...model.validation import count
from ...policies import (
    AlphaPolicy,
    BudgetedAlphaPolicy,
    ControllerPolicy,
    MixturePolicy,
    PlanSetPolicy,
    Policy,
    RandomPolicy,
    StochasticControllerPolicy,
    policy_graph,
)
from ...verification.proof import Proof
from ..drawing import PALETTE, Drawing, Shape, check_drawing, checked_overlay, checked_scene
from ..parts import uncertain
from .alternatives import Bounds
from .risk import risks, verified_reward, within_account
from .walk import HistoryGraph, belief_key, components, starts, walk

MOST_NODES = 5_000
_SHOWN = 8  # states of a belief
_MOST_DRAWN = 100  # nodes of a controller
_SCRIPTS = ("position.js", "paint.js", "graph.js", "controller.js", "panel.js", "main.js")


class Side(NamedTuple):
    """A policy to show, and what to call it."""

    title: str
    policy: Policy[Any]
    about: str = ""  # a word on where it comes from


class Page(NamedTuple):
    """A page, and how much is on it."""

    html: str
    nodes: list[int]  # explored, of each side
    complete: bool  # nothing was left unexplored
    randomised: list[bool]  # which sides are one draw of their policy


def page(
    model: CPOMDP,
    sides: Sequence[Side],
    drawing: Drawing | None = None,
    most_nodes: int = MOST_NODES,
    most_steps: int | None = None,
    seed: int = 0,
    proof: Proof | None = None,
) -> Page:
    """The page of one policy, or of two side by side.

    Parameters
    ----------
    drawing : how the problem is drawn; without it beliefs are shown by bars alone
    most_nodes, most_steps : where to stop exploring each policy
    seed : of policies that draw at random
    proof : of a solver, by which actions are judged; else by the bounds that solvers start from

    Examples
    --------
    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> made = page(model, [Side("always A", rc.policies.blind(model, "tunnel-A"))])
    >>> made.nodes, made.complete, made.html.startswith("<!doctype html>")
    ([4], True, True)
    """
    if not 1 <= len(sides) <= 2:
        raise InputError(f"a page shows one policy or two, not {len(sides)}")
    if drawing is not None:
        check_drawing(drawing)
    graphs = [walk(model, starts(model, side.policy, seed), most_nodes, most_steps) for side in sides]
    beliefs = _Beliefs(model, drawing)
    shown = [_side(side, graph, beliefs, seed) for side, graph in zip(sides, graphs, strict=True)]
    bounds = Bounds(model, proof)
    beliefs.judge(bounds)
    data = {
        "model": {
            "name": model.title,
            "size": [model.n_states, model.n_actions, model.n_observations],
            "discount": model.discount,
            "costDiscount": model.cost_discount.tolist(),
            "budget": [finite(limit) for limit in model.budget],
            "slack": tolerance.slack(model.budget).tolist(),
            "costs": [str(name) for name in model.costs],
            "actions": [str(name) for name in model.actions],
            "observations": [str(name) for name in model.observations],
        },
        "sides": shown,
        "beliefs": beliefs.rows,
        "states": list(beliefs.states),
        "shapes": list(beliefs.shapes),
        "drawing": None
        if drawing is None
        else {
            "width": float(drawing.width),
            "height": float(drawing.height),
            "scene": [_shape(s) for s in checked_scene(drawing)],
        },
        "judgedBy": bounds.source,
        "version": __version__,
    }
    return Page(
        _html(model.title or "policy", data),
        [len(graph) for graph in graphs],
        all(graph.complete for graph in graphs),
        [any(one_draw for _, _, one_draw in side["draws"]) for side in shown],
    )


def _html(title: str, data: dict[str, Any]) -> str:
    assets = files(__package__) / "assets"

    def read(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    # No "<" survives in the data, so that no label can close the script it stands in.
    inline = json.dumps(printable(data), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {
        "TITLE": in_html(title),
        "STYLE": _colours() + read("page.css"),
        "SCRIPT": "\n".join(read(name) for name in _SCRIPTS),
        "DATA": inline,
    }
    # In one pass, so that nothing that is put in, which may be anybody's text, is searched again.
    return re.sub(r"/\*([A-Z]+)\*/", lambda found: parts[found[1]], read("page.html"))


def _colours() -> str:
    """The palette of drawings as custom properties of both themes."""
    light = ";".join(f"--{role}:{colours.light}" for role, colours in PALETTE.items())
    dark = ";".join(f"--{role}:{colours.dark}" for role, colours in PALETTE.items())
    return (
        f":root{{{light}}}:root[data-theme=dark]{{{dark}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
    )


def _side(side: Side, graph: HistoryGraph, beliefs: _Beliefs, seed: int) -> dict[str, Any]:
    risk, low, high = risks(graph), graph.values[:, :, 0].copy(), graph.values[:, :, 1]
    least = None if graph.complete else verified_reward(graph.model, side.policy)
    if least is not None:
        high = within_account(graph)
        if len(graph.roots) == 1:
            low[graph.roots[0], 0] = max(low[graph.roots[0], 0], min(least, high[graph.roots[0], 0]))
    begin = starts(graph.model, side.policy, seed)
    exact = _is_exact(graph)
    number = [beliefs.add(belief) for belief in graph.beliefs]
    return {
        "title": side.title,
        "about": ", ".join(filter(None, [side.about, _kind(side.policy)])),
        "draws": [[_digits(s.weight), root, int(s.one_draw)] for s, root in zip(begin, graph.roots, strict=True)],
        "seed": seed,
        "complete": graph.complete,
        "belief": [number[b] for b in graph.belief],
        "action": graph.action,
        "low": _numbers(low),
        "high": None if exact else _numbers(high),
        "edges": [[x for o, p, node in row for x in (o, _digits(p), node)] for row in graph.edges],
        "most": _numbers(risk.most),
        "way": risk.way.ravel().tolist(),
        "whole": None if graph.complete or least is not None else risk.whole.astype(int).tolist(),
        "controller": _controller(side.policy, graph),
    }


def _controller(policy: Policy[Any], graph: HistoryGraph) -> dict[str, Any] | None:
    """The nodes of a controller, what leads from one to another, and which of them each history is at.

    None if it has too many to look at, or is none.
    """
    parts = components(policy)
    if len(parts) > 1 or not isinstance(parts[0][1], ControllerPolicy):
        return None
    shown = policy_graph(parts[0][1], graph.model, _MOST_DRAWN)
    if shown.omitted:
        return None
    place = {node.number: i for i, node in enumerate(shown.nodes)}
    return {
        "nodes": [node.action for node in shown.nodes],
        "edges": [[edge.source, edge.target, list(edge.observations)] for edge in shown.edges],
        "at": [place.get(state, -1) for state in graph.states],
    }


def _is_exact(graph: HistoryGraph) -> bool:
    """Return whether rewards and costs to come are the same from below and from above, but for rounding."""
    low, high = graph.values[:, :, 0], graph.values[:, :, 1]
    reward = high[:, 0] - low[:, 0] <= 1e-9 * (1 + np.abs(low[:, 0]))
    return bool(reward.all() and tolerance.same(low[:, 1:], high[:, 1:]).all())


def _kind(policy: Policy[Any]) -> str:
    """A policy in a few words."""
    match policy:
        case MixturePolicy() if len(policy.policies) == 1:
            kind = _kind(policy.policies[0])
        case MixturePolicy():
            kind = f"a mixture of {len(policy.policies)}"
        case ControllerPolicy() | StochasticControllerPolicy():
            lots = f" and {policy.n_lots:,} lots" if isinstance(policy, StochasticControllerPolicy) else ""
            kind = f"a controller of {count(policy.actions.size, 'node')}{lots}"
        case AlphaPolicy() | BudgetedAlphaPolicy():
            kind = f"{policy.actions.size:,} α-vectors"
        case PlanSetPolicy():
            plans = (policy.domain >= 0) & np.isfinite(policy.sure_cost).all(axis=1)
            kind = f"a set of {count(int(plans.sum()), 'plan')}"
        case RandomPolicy():
            kind = "random actions"
        case _:
            kind = type(policy).__name__
    return kind


class _Beliefs:
    """The beliefs of a page, each once, and the states and shapes that they name, each once."""

    def __init__(self, model: CPOMDP, drawing: Drawing | None) -> None:
        self.model, self.drawing = model, drawing
        self._beliefs: list[Belief] = []
        self.rows: list[list[Any]] = []  # [likeliest states, states beyond, overlay, alternatives, parts]
        self.states: dict[str, int] = {}
        self.shapes: dict[tuple[Any, ...], int] = {}
        self._index: dict[bytes, int] = {}

    def add(self, belief: Belief) -> int:
        """The number of a belief."""
        key = belief_key(belief)
        if key not in self._index:
            self._index[key] = len(self.rows)
            self._beliefs.append(belief)
            likely = np.argsort(-belief.probabilities, kind="stable")[:_SHOWN]
            names = (str(self.model.states[s]) for s in belief.states[likely].tolist())
            shown = self._named(zip(names, belief.probabilities[likely].tolist(), strict=True))
            parts = [
                [place, max(0, len(values) - _SHOWN), *self._named(islice(values.items(), _SHOWN))]
                for place, values in uncertain(self.model, belief).items()
            ]
            overlay = [] if self.drawing is None else [_shape(shape) for shape in checked_overlay(self.drawing, belief)]
            numbers = [self.shapes.setdefault(shape, len(self.shapes)) for shape in overlay]
            self.rows.append([shown, belief.states.size - likely.size, numbers, None, parts])
        return self._index[key]

    def _named(self, values: Iterable[tuple[str, float]]) -> list[float]:
        """Names by their numbers, and their probabilities."""
        return _flat((self.states.setdefault(name, len(self.states)), _digits(p)) for name, p in values)

    def judge(self, known: Bounds) -> None:
        """Add what is proven of every action, where the process goes on."""
        going = [i for i, belief in enumerate(self._beliefs) if not self.model.terminal[belief.states].all()]
        bounds = known.at_all([self._beliefs[i] for i in going])
        for i, found in zip(going, bounds, strict=True):
            self.rows[i][3] = [
                [
                    _digits(alternative.reward_lo),
                    _digits(alternative.reward_hi),
                    [_digits(c, 17) for c in alternative.cost.tolist()],
                    [_digits(c, 14) for c in alternative.cost_lo.tolist()],
                    [_flat((_digits(s.need, 14), _digits(s.reward)) for s in stairs) for stairs in alternative.stairs],
                ]
                for alternative in found
            ]


def _flat(pairs: Iterable[tuple[float, float]]) -> list[float]:
    return [x for pair in pairs for x in pair]


def _shape(shape: Shape) -> tuple[Any, ...]:
    """The kind of a shape and its fields in their order."""
    return type(shape).__name__.lower(), *(x if isinstance(x, str) else _digits(x, 5) for x in shape)


def _numbers(values: FloatArray) -> list[float | None]:
    """Numbers as JSON knows them; None is infinite, as a cost that is not discounted may be."""
    return [_digits(v, 14) if math.isfinite(v) else None for v in values.ravel().tolist()]


def _digits(value: float, digits: int = 9) -> float:
    """A number rounded to some digits, a whole one without a point: pages hold many of them."""
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if math.isfinite(rounded) and rounded == int(rounded) and abs(rounded) < 2**53 else rounded
