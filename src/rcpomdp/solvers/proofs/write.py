"""Writing a proof: what the bound rests on, with values that are worked out anew.

The values start from the bounds of the search, and are raised by the very inequalities that the checker tests until
these hold but for next to nothing, whatever the search has got wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import FloatArray, IntArray
from ...bounds.fib import fib_vectors
from ...deadline import unhurried
from ...errors import InputError
from ...model import CPOMDP
from ...model.classes import observability_classes
from ...verification.chain import entries
from ...verification.ground import lasting
from ...verification.proof import EVERY_HISTORY, EXACT, NO_BUDGET, Proof
from ...verification.proof_check import check_proof
from ..arcs.joint_need import shares
from ..belief_graph.search import BeliefGraphSearch
from ..result import INFEASIBLE, INTERRUPTED, ITERATION_LIMIT, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result
from . import evidence
from .levels import first_budget
from .trace import Trace, Tracer, no_trace
from .values import Values

_MOST_ENTRIES = 2_000_000
_FINER = (4, 32)  # shares of epsilon that may be lost at beliefs where a table must do, one after the other
_ROOM = 100  # levels that are made for budgets that are met, times that
_FEW_ENTRIES = 5_000  # up to which it is tried again
_LOWERED = 20_000  # up to which values are always lowered
_SHARE = 0.01  # of a gap that is open, that the proof may lose
_SETTLED = 0.02  # share of epsilon that inequalities may fail by in all


def check_provable(model: CPOMDP) -> None:
    """Refuse models for which no proofs are written, before they are solved."""
    if model.discount == 0:
        raise InputError("no proof is written where the discount is 0: the first step is all there is")
    lasting(model)


def with_proof(model: CPOMDP, found: Result, criterion: str, epsilon: float) -> Result:
    """A result with a proof; its upper bound is what that proves, unless it is of something else.

    Writing knows no time limit. Where memory or an interrupt ends it, the result is as it was, and without a proof.
    """
    gap = found.gap if np.isfinite(found.gap) else 0.0
    lose = max(epsilon, _SHARE * gap)
    goal = found.lower + epsilon if found.status == OPTIMAL else found.upper + lose / 4
    try:
        with unhurried():
            proof = prove(model, found.evidence, criterion, lose, goal)
    except (KeyboardInterrupt, MemoryError) as stop:
        status = MEMORY_LIMIT if isinstance(stop, MemoryError) else INTERRUPTED
        return replace(found, status=found.status if found.status == INFEASIBLE else status, evidence=None)
    found = replace(found, proof=proof, evidence=None)
    if found.objective != "reward" or not np.isfinite(min(found.upper, proof.upper)):
        return found
    gap, status = proof.upper - found.lower, found.status
    if status == OPTIMAL and gap > epsilon:
        status = STALLED
    elif status in (TIME_LIMIT, STALLED, ITERATION_LIMIT) and gap <= epsilon:
        status = OPTIMAL
    return replace(found, upper=proof.upper, status=status)


def prove(model: CPOMDP, search: Any, criterion: str, epsilon: float, goal: float) -> Proof:
    """A proof of the upper bound that a search has found; it need not be below `goal`.

    Parameters
    ----------
    criterion : where the budget is kept: "every history", "expectation" or "none"
    epsilon : what the bound may lose
    """
    known = evidence.of(search)
    if goal == -np.inf and criterion == EVERY_HISTORY:
        proof = _clash(model)
        if proof is not None:
            return proof
    if criterion == EVERY_HISTORY:
        limited = np.flatnonzero(np.isfinite(model.budget))
        known.tables += [known.late.extend(_weighed(model, np.eye(model.n_costs)[k])) for k in limited]
    class_of = observability_classes(model).class_of
    budget = np.full(model.n_costs, np.inf)
    if criterion == EVERY_HISTORY:
        budget = np.array(model.spending_limit) * first_budget(model)
    mode = EXACT if np.isfinite(budget).any() and not isinstance(search, BeliefGraphSearch) else 0
    span = float(known.tables[0].value.max() - known.tables[0].value.min())
    objective = known.tables[0].weights if criterion == NO_BUDGET else np.eye(1, 1 + model.n_costs)[0]
    best = None
    for finer in _FINER:
        lost = epsilon / finer
        coarse = finer == _FINER[0]
        tracer = Tracer(model, known, class_of, lost, min(1e-3, lost / max(span, 1e-300)), _ROOM * finer, coarse)
        trace = tracer.run(0, mode, budget, _MOST_ENTRIES)
        proof = _assembled(model, known, trace, class_of, criterion, objective)
        proof = settled(model, proof, trace, _SETTLED * epsilon, goal)
        if best is None or proof.upper < best.upper:
            best = proof
        if best.upper <= goal or len(trace.point) > _FEW_ENTRIES:
            break
    assert best is not None
    return best


def _clash(model: CPOMDP) -> Proof | None:
    """A proof that no policy keeps the budget, by a weighted sum of costs that even who knows the state exceeds."""
    limited = np.flatnonzero(np.isfinite(model.budget) & (model.budget > 0)).tolist()
    rows = np.concatenate([np.eye(len(limited)), shares(len(limited))]) if len(limited) > 1 else np.eye(len(limited))
    for row in rows:
        weights = np.zeros(model.n_costs)
        weights[limited] = row / np.asarray(model.budget)[limited]
        proof = of_tables(model, [_weighed(model, weights)], EVERY_HISTORY)
        if proof.upper == -np.inf:
            return proof
    return None


def _weighed(model: CPOMDP, weights: FloatArray) -> evidence.Table:
    """A bound on what must be spent of a weighted sum of costs: a relaxation with μ = 0, which rules budgets out."""
    cost = np.tensordot(weights, model.cost, axes=1)
    arrays = model.arrays._replace(reward=-cost)
    value = np.minimum(fib_vectors(model._changed(arrays=arrays)).T, 0.0)
    return evidence.Table(np.array([0.0, *weights]), 0, np.array([np.inf]), np.ascontiguousarray(value)[None])


def of_tables(model: CPOMDP, tables: list[evidence.Table], criterion: str) -> Proof:
    """A proof that rests on tables alone."""
    root = sp.csr_array(model.initial_belief[None])
    known = _Tables(tables, evidence.no_late(model), root)
    objective = np.eye(1, 1 + model.n_costs)[0]
    proof = _assembled(model, known, no_trace(model), observability_classes(model).class_of, criterion, objective)
    return proof._replace(upper=check_proof(model, proof).upper)


class _Tables(NamedTuple):
    """Evidence that is tables and the initial belief."""

    tables: list[evidence.Table]
    late: evidence.Late
    root: Any

    def beliefs(self, i: IntArray) -> Any:
        """The initial belief."""
        return self.root


def _assembled(
    model: CPOMDP,
    known: evidence.Evidence | _Tables,
    trace: Trace,
    class_of: IntArray,
    criterion: str,
    objective: FloatArray,
) -> Proof:
    """A proof without values yet; entries that others rest on come before them, where there is no circle."""
    named = trace.target != evidence.NONE
    ids = np.unique(np.concatenate([[0], trace.point, trace.cover[:, 0], trace.target[named]]))
    rows = known.beliefs(ids)
    order = np.arange(len(trace.point))[::-1]
    levels = [np.unique(np.append(trace.budget[:, k], np.inf)) for k in range(model.n_costs)]
    places = [np.searchsorted(levels[k], trace.budget[order, k]) for k in range(model.n_costs)]
    first = slice(rows.indptr[0], rows.indptr[1])
    support = np.flatnonzero(model.initial_belief)
    rows.indices[first], rows.data[first] = support, model.initial_belief[support]
    return Proof(
        criterion=criterion,
        upper=0.0,
        objective=objective,
        class_of=class_of,
        weights=np.array([table.weights for table in known.tables]),
        table_cost=np.array([table.cost for table in known.tables]),
        table_ptr=_pointer([len(table.level) for table in known.tables]),
        table_level=np.concatenate([table.level for table in known.tables]),
        table=np.concatenate([table.value for table in known.tables]),
        late_of=known.late.of,
        level_ptr=_pointer([len(values) for values in levels]),
        level=np.concatenate([*levels, np.zeros(0)]),
        point_ptr=rows.indptr.astype(np.int64),
        point_state=rows.indices.astype(np.int64),
        point_prob=rows.data,
        entry_point=np.searchsorted(ids, trace.point[order]),
        entry_mode=trace.mode[order].astype(np.int64),
        entry_level=np.stack(places, axis=1) if places else np.zeros((len(order), 0), dtype=np.int64),
        entry_value=np.zeros((len(order), model.n_actions)),
        cover_point=np.searchsorted(ids, trace.cover[:, 0]),
        cover_action=trace.cover[:, 1],
        cover_observation=trace.cover[:, 2],
        cover_ptr=_pointer(named.sum(axis=1)),
        cover_target=np.searchsorted(ids, trace.target[named]),
    )


def _pointer(sizes: list[int] | IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)


def settled(model: CPOMDP, proof: Proof, trace: Trace, least: float, goal: float) -> Proof:
    """The proof with values such that what fails adds up to `least`, without what the bound does not rest on.

    If the bound is above `goal` when the inequalities hold, or entries are few, values are lowered as far as these
    allow.
    """
    back = slice(None, None, -1)
    q = Values(model, proof, trace.follows[back], trace.known[back], trace.depth[back], least)
    q.settle(up=True)
    if _at_root(q) > goal - least or len(trace.point) <= _LOWERED:
        q.settle(up=False)
    proof = _part_of(*q.finished())
    return proof._replace(upper=check_proof(model, proof).upper)


def _at_root(q: Values) -> float:
    """The least bound of the first point that has been reached."""
    root = np.flatnonzero((q.proof.entry_point == 0) & (q.depth == 0))
    return float(q.value[root].max(axis=1).min())


def _part_of(proof: Proof, entry: IntArray, cover: IntArray) -> Proof:
    """The proof with these entries and covers alone, and with the points and levels that they name."""
    size = np.diff(proof.cover_ptr)[cover]
    target = proof.cover_target[entries(proof.cover_ptr, cover)[1]]
    points = np.unique(np.concatenate([[0], proof.entry_point[entry], proof.cover_point[cover], target]))
    _, of_point = entries(proof.point_ptr, points)
    levels, places = [], []
    for k in range(len(proof.level_ptr) - 1):
        values = proof.level[proof.level_ptr[k] : proof.level_ptr[k + 1]]
        used, place = np.unique(np.append(proof.entry_level[entry, k], len(values) - 1), return_inverse=True)
        levels.append(values[used])
        places.append(place.ravel()[:-1])
    return proof._replace(
        level_ptr=_pointer([len(values) for values in levels]),
        level=np.concatenate([*levels, np.zeros(0)]),
        point_ptr=_pointer(np.diff(proof.point_ptr)[points]),
        point_state=proof.point_state[of_point],
        point_prob=proof.point_prob[of_point],
        entry_point=np.searchsorted(points, proof.entry_point[entry]),
        entry_mode=proof.entry_mode[entry],
        entry_level=np.stack(places, axis=1) if places else np.zeros((len(entry), 0), dtype=np.int64),
        entry_value=proof.entry_value[entry],
        cover_point=np.searchsorted(points, proof.cover_point[cover]),
        cover_action=proof.cover_action[cover],
        cover_observation=proof.cover_observation[cover],
        cover_ptr=_pointer(size),
        cover_target=np.searchsorted(points, target),
    )
