"""Bounds on a model's optimum that need no solver.

A policy that `verify` finds to keep its budget in every history is worth no more than any of the optima (with budgets
in every history, with budgets in expectation, without budgets). The upper bound of CGCP is no less than the optimum
with budgets in expectation, and so than that with budgets in every history; the upper bound of SARSOP is no less than
any of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .._types import FloatArray
from ..bounds import fib_vectors
from ..model import CPOMDP
from ..policies import blind
from ..verification import MOST_PAIRS, verify

EPSILON = 1e-2  # gap that is asked for
LIMIT = 20.0  # seconds for each solve of a small problem
_TOLERANCE = 1e-6  # relative: reward and costs, bounds
_FEW_PAIRS = 2_000  # that are walked to verify a policy for a hard problem


class Enclosure(NamedTuple):
    """Two numbers with the optimum between them."""

    known: float  # what some policy that keeps the budget in every history is worth; -inf if none is known
    most: float  # what no policy exceeds; -inf if none keeps the budget


def enclosed(model: CPOMDP, budgets: bool) -> Enclosure:
    """By search; `budgets` is whether only those policies count that keep the budget in expectation."""
    key = _key(model)
    return Enclosure(_known(key), _most_within(key) if budgets else _most(key))


def enclosed_at_once(model: CPOMDP) -> Enclosure:
    """Without any search, and so not as close: single actions, and the fast informed bound."""
    return _at_once(_key(model))


def totals(model: CPOMDP) -> tuple[FloatArray, FloatArray]:
    """The least and the largest total of the reward, and of each cost, that there can be [1 + K]."""
    gain = np.concatenate([model.reward[None], model.cost])
    least = np.minimum(gain.min(axis=(1, 2)), 0.0) / model.fade
    most = np.maximum(gain.max(axis=(1, 2)), 0.0) / model.fade
    return least, most


def margin(model: CPOMDP) -> float:
    """Of rewards: rounding, and what a budget's own tolerance is worth."""
    return _TOLERANCE * max(1.0, float(np.abs(model.reward).max()), float(model.cost.max(initial=0.0)))


def cost_margins(model: CPOMDP) -> FloatArray:
    """Rounding of expected costs [K], by what a step can cost."""
    return np.asarray(_TOLERANCE * model.cost.max(axis=(1, 2), initial=0.0))


def margins(model: CPOMDP) -> FloatArray:
    """Of reward and costs [1 + K]."""
    return np.concatenate([[margin(model)], cost_margins(model)])


@dataclass(frozen=True)
class _Key:
    """A model by its numbers."""

    fingerprint: str
    budget: tuple[float, ...]
    model: Any

    def __hash__(self) -> int:
        return hash((self.fingerprint, self.budget))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and (self.fingerprint, self.budget) == (other.fingerprint, other.budget)


def _key(model: CPOMDP) -> _Key:
    return _Key(model.fingerprint, tuple(model.budget.tolist()), model)


@cache
def _at_once(key: _Key) -> Enclosure:
    model: CPOMDP = key.model
    known = _best_verified(model, _single_actions(model), _FEW_PAIRS)
    return Enclosure(known, float((fib_vectors(model) @ model.initial_belief).max()))


@cache
def _known(key: _Key) -> float:
    from ..solvers.arcs.solve import arcs

    model: CPOMDP = key.model
    searched = arcs(model, epsilon=EPSILON, time_limit=LIMIT).policy
    return _best_verified(model, [searched, *_single_actions(model)])


@cache
def _most(key: _Key) -> float:
    from ..solvers.sarsop import sarsop

    return sarsop(key.model, epsilon=EPSILON, time_limit=LIMIT).upper


@cache
def _most_within(key: _Key) -> float:
    from ..solvers.cgcp.solve import cgcp

    return cgcp(key.model, epsilon=EPSILON, time_limit=LIMIT).upper


def _single_actions(model: CPOMDP) -> list[Any]:
    return [blind(model, a) for a in range(model.n_actions)]


def _best_verified(model: CPOMDP, policies: list[Any], most_pairs: int = MOST_PAIRS) -> float:
    found = [verify(model, policy, most_pairs=most_pairs) for policy in policies]
    return max((each.reward - each.error for each in found if each.verified), default=-math.inf)
