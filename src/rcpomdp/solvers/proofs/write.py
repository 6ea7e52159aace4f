"""Writing a proof: what the bound rests on, with values that are worked out anew.

The values start from the bounds of the search, and are raised by the very inequalities that the checker tests until
these hold but for next to nothing, whatever the search has got wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._types import BoolArray, FloatArray, IntArray
from ...bounds.fib import fib_vectors
from ...deadline import unhurried
from ...errors import InputError
from ...model import CPOMDP
from ...model.classes import observability_classes
from ...verification.inequalities import Followers, Inequalities, lasting
from ...verification.proof import EVERY_HISTORY, EXACT, NO_BUDGET, Proof
from ...verification.proof_check import check_proof
from ..arcs.joint_need import shares
from ..belief_graph.search import BeliefGraphSearch
from ..result import INFEASIBLE, INTERRUPTED, ITERATION_LIMIT, MEMORY_LIMIT, OPTIMAL, STALLED, TIME_LIMIT, Result
from . import evidence
from .trace import Trace, Tracer

_MOST_ENTRIES = 2_000_000
_DOUBT = 1e-7  # relative: what the checker will allow for at most, it is hoped
_FINER = (4, 32)  # shares of epsilon that may be lost at beliefs where a table must do, one after the other
_ROOM = 100  # levels that are made for budgets that are met, times that
_FEW_ENTRIES = 20_000  # up to which it is tried again
_SHARE = 0.05  # of a gap that is open, that the proof may lose
_SETTLED = 0.05  # share of epsilon that inequalities may fail by in all


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
    budget = np.array(model.spending_limit) if criterion == EVERY_HISTORY else np.full(model.n_costs, np.inf)
    mode = EXACT if np.isfinite(budget).any() and not isinstance(search, BeliefGraphSearch) else 0
    span = float(known.tables[0].value.max() - known.tables[0].value.min())
    objective = known.tables[0].weights if criterion == NO_BUDGET else np.eye(1, 1 + model.n_costs)[0]
    best = None
    for finer in _FINER:
        lost = epsilon / finer
        coarse = finer == _FINER[0]
        tracer = Tracer(model, known, class_of, lost, min(1e-3, lost / max(span, 1e-300)), _ROOM * finer, coarse)
        trace = tracer.run(0, mode, budget, _MOST_ENTRIES)
        proof, steps = _assembled(model, known, trace, class_of, criterion, objective)
        proof = settled(model, proof, steps, trace.known[::-1], _SETTLED * epsilon, goal)
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
    nothing = np.zeros(0, dtype=np.int64)
    none = Trace(nothing, nothing, np.zeros((0, model.n_costs)), {}, np.zeros(0), {})
    root = sp.csr_array(model.initial_belief[None])
    known = _Tables(tables, evidence.no_late(model), root)
    objective = np.eye(1, 1 + model.n_costs)[0]
    proof, _ = _assembled(model, known, none, observability_classes(model).class_of, criterion, objective)
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
) -> tuple[Proof, BoolArray]:
    """A proof without values yet; entries that others rest on come before them, where there is no circle."""
    named = [[0], trace.point, [c[0] for c in trace.covers], [t for c in trace.covers for t in c[3]]]
    ids = np.unique(np.concatenate([np.asarray(part, dtype=np.int64) for part in named]))
    rows = known.beliefs(ids)
    order = np.arange(len(trace.point))[::-1]
    levels = [np.unique(np.append(trace.budget[:, k], np.inf)) for k in range(model.n_costs)]
    places = [np.searchsorted(levels[k], trace.budget[order, k]) for k in range(model.n_costs)]
    covers = list(trace.covers)
    first = slice(rows.indptr[0], rows.indptr[1])
    support = np.flatnonzero(model.initial_belief)
    rows.indices[first], rows.data[first] = support, model.initial_belief[support]
    at = np.searchsorted(ids, [step[1] for step in trace.steps])
    followed = np.zeros((len(known.tables) + 1, len(ids), model.n_actions), dtype=np.bool_)
    followed[[step[0] + 1 for step in trace.steps], at, [step[2] for step in trace.steps]] = True
    proof = Proof(
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
        cover_point=np.searchsorted(ids, [c[0] for c in covers]).astype(np.int64),
        cover_action=np.array([c[1] for c in covers], dtype=np.int64),
        cover_observation=np.array([c[2] for c in covers], dtype=np.int64),
        cover_ptr=_pointer([len(c[3]) for c in covers]),
        cover_target=np.searchsorted(ids, [t for c in covers for t in c[3]]).astype(np.int64),
    )
    return proof, followed[proof.entry_mode + 1, proof.entry_point]


def _pointer(sizes: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)


class _Values(Inequalities):
    """The inequalities, with what follows points kept from sweep to sweep."""

    def __init__(self, model: CPOMDP, proof: Proof, steps: BoolArray) -> None:
        super().__init__(model, proof)
        self.followed = steps
        self.value = np.full(proof.entry_value.shape, np.inf)
        self.hint = self.value.copy()  # [E, A] what is proven without a step
        self._rests_on = _followers(proof)
        self._followers: dict[int, Followers] = {}
        self._rests: dict[tuple[int, int], FloatArray] = {}

    def followers(self, a: int) -> Followers:
        """What follows all points for which an action is followed."""
        if a not in self._followers:
            self._followers[a] = self.follow(np.unique(self.proof.entry_point[self.followed[:, a]]), a)
        return self._followers[a]

    def of_rest(self, f: Followers, t: int, line: IntArray) -> FloatArray:
        if (id(f), t) not in self._rests:
            self._rests[id(f), t] = np.asarray(f.rest @ self.proof.table[t])
        return self._rests[id(f), t][line]

    def settle(self, mode: int, at: IntArray, least: float, up: bool) -> None:
        """Raise values that are below what follows from the others, or lower those above it, until nothing moves."""
        due = np.ones(len(self.proof.point_ptr) - 1, dtype=np.bool_)  # points of which something that follows has moved
        while due.any():
            moved = np.zeros(len(due), dtype=np.bool_)
            for a in range(self.model.n_actions):
                some = at[self.followed[at, a] & due[self.proof.entry_point[at]]]
                if some.size:
                    needed = np.minimum(self.steps_of(self.followers(a), mode, some, a), self.hint[some, a])
                    value = self.value[some, a]
                    moves = needed > value + least if up else needed < value - least
                    self.value[some[moves], a] = needed[moves]
                    moved[self.proof.entry_point[some[moves]]] = True
            due = self._rests_on @ moved

    def finished(self) -> Proof:
        """The proof with these values; what no relaxation allows is never read."""
        none = (self.proof.entry_mode != EXACT)[:, None] & ~np.isfinite(self.value)
        return self.proof._replace(entry_value=np.where(none, 0.0, self.value))


def settled(model: CPOMDP, proof: Proof, steps: BoolArray, known: FloatArray, least: float, goal: float) -> Proof:
    """The proof with values such that what fails adds up to `least`, from what the search knows.

    Values are raised until the inequalities hold. If the bound is then above `goal`, they are lowered as far as these
    allow: the search may have known less at a belief than what follows from the others.
    """
    q = _Values(model, proof, steps)
    modes = [(m, np.flatnonzero(proof.entry_mode == m)) for m in (*range(len(proof.weights)), EXACT)]
    modes = [(mode, at) for mode, at in modes if at.size]
    q.doubt = _DOUBT * (1.0 + float(np.abs(proof.table).max()))
    for mode, at in modes:
        q.hint[at] = hints = q.hints(mode, at)
        q.value[at] = np.where(steps[at], np.minimum(hints, known[at, None]), hints)
        q.settle(mode, at, least / lasting(model), up=True)
    found = check_proof(model, q.finished())
    if found.upper > goal:
        for mode, at in modes:
            q.hint[at] = hints = q.hints(mode, at)
            q.value[at] = np.minimum(q.value[at], hints)
            q.settle(mode, at, least / lasting(model), up=False)
        found = check_proof(model, q.finished())
    return q.finished()._replace(upper=found.upper)


def _followers(proof: Proof) -> Any:
    """Which points rest on which, [N, N]."""
    n, size = len(proof.point_ptr) - 1, np.diff(proof.cover_ptr)
    pairs = np.repeat(proof.cover_point, size), proof.cover_target
    return sp.csr_array((np.ones(len(pairs[1]), dtype=np.bool_), pairs), shape=(n, n))
