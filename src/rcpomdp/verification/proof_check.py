"""A second opinion on an upper bound: whether the inequalities of a proof hold, and what they prove.

If every inequality holds but for e, then tables and entries of relaxations are too low by at most ``x = e + e/(1−γ)``,
and exact entries, which rest on them, by at most x more (`docs/theory.md`). Rounding is part of e: no sum has more than
``2S + O`` terms, and the largest number is M. So nothing is refused for a small fault, but what is proven rises by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from .._types import FloatArray, IntArray
from ..model import CPOMDP
from .ground import TWIN, UNIT, lasting, reserve
from .inequalities import Inequalities
from .proof import EVERY_HISTORY, EXACT, EXPECTATION, NO_BUDGET, Proof

REWARD = "reward"
_WHO = {
    EVERY_HISTORY: "no policy that keeps the budget in every history",
    EXPECTATION: "no policy that keeps the budget on average",
    NO_BUDGET: "no policy, whatever it spends,",
}
_LONGEST_CHAIN = 1000
_DIGITS = 1e-6  # relative: a claim that agrees so far is confirmed


class Fault(NamedTuple):
    """The inequality of many that fails by the most."""

    excess: float  # by how much the left side is too small; 0 if all hold
    where: str


def _excess(needed: FloatArray, value: FloatArray) -> FloatArray:
    """By how much values are below what they must be no less than; inf where either is no number."""
    with np.errstate(invalid="ignore"):
        short = np.where(needed > value, needed - value, np.inf)
    return np.where(needed <= value, 0.0, short)


class ProofCheck(NamedTuple):
    """What a proof proves."""

    confirmed: bool  # the bound that it claims
    problem: str | None  # the inequality that fails, or what else is wrong
    upper: float  # what is proven; −inf: no policy keeps the budget
    claimed: float
    excess: float  # by how much the worst inequality fails; what is proven allows for it
    points: int
    entries: int
    criterion: str  # of which policies: those that keep the budget in "every history", in "expectation", or all, "none"
    objective: str  # of what: "reward", or a weighted sum with costs

    @property
    def statement(self) -> str:
        """What is proven, in words."""
        if self.upper == -np.inf:
            return f"no policy keeps the budget{' on average' if self.criterion == EXPECTATION else ''}"
        what = "is worth" if self.objective == REWARD else f"has, by {self.objective},"
        return f"{_WHO[self.criterion]} {what} more than {self.upper:.9g}"

    def speaks_of(self, k: int | None) -> str | None:
        """Why it bounds no reward of policies that keep the budget, at histories shorter than k; None if it does."""
        if self.objective != REWARD:
            return f"the proof is of another objective, {self.objective}"
        if k is not None and self.criterion == EVERY_HISTORY:
            return f"the proof is of policies that keep the budget in every history, and not just below {k} steps"
        return None

    def rules_out(self, k: int | None) -> bool:
        """True if no policy keeps the budget, at histories shorter than k."""
        return self.confirmed and self.upper == -np.inf and (k is None or self.criterion == EXPECTATION)

    def refutes(self, upper: float | None) -> str | None:
        """What is wrong with a claimed upper bound if this is all that is proven; None if nothing is."""
        if self.problem is not None:
            return f"the proof fails: {self.problem}"
        if upper is not None and self.upper > upper + _DIGITS * max(1.0, abs(upper)):
            return f"the claimed upper bound {upper:.9g} is below {self.upper:.9g}, which is what the proof proves"
        return None

    def summary(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return {
            "confirmed": self.confirmed,
            "reason": self.problem,
            "upper": finite(self.upper),
            "infeasible": self.upper == -np.inf,
            "criterion": self.criterion,
            "objective": self.objective,
            "claimed": finite(self.claimed),
            "excess": finite(self.excess),
            "points": self.points,
            "entries": self.entries,
        }


def check_proof(model: CPOMDP, proof: Proof) -> ProofCheck:
    """Check a proof of an upper bound, line by line; no number of it is trusted.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> found = rc.check_proof(model, rc.solve(model, proof=True).proof)
    >>> found.confirmed, round(found.upper, 3)
    (True, 10.0)
    """
    q = Inequalities(model, proof)
    worst, most = _judged(q)
    upper = min(_bounds(q, most), default=np.inf)
    confirmed = upper <= proof.upper
    problem = None
    if not confirmed:
        problem = f"it proves {_shown(upper)}, not {_shown(proof.upper)} as claimed"
        if worst.excess > _rounding(q):
            problem += f": {worst.where}"
    return ProofCheck(
        confirmed,
        problem,
        upper,
        proof.upper,
        worst.excess,
        len(proof.point_ptr) - 1,
        len(proof.entry_point),
        proof.criterion,
        _named(model, proof.objective),
    )


def _named(model: CPOMDP, objective: FloatArray) -> str:
    """What is bounded, in words."""
    if np.array_equal(objective, np.eye(1, 1 + model.n_costs)[0]):
        return REWARD
    terms = zip((objective[0], *-objective[1:]), (REWARD, *model.costs), strict=True)
    return " ".join(f"{weight:+g}·{name}" for weight, name in terms if weight) or "nothing"


def doubts(q: Inequalities) -> tuple[float, float]:
    """By how much values of relaxations, and exact ones, may be too low, whatever they are."""
    return _judged(q)[1]


def _judged(q: Inequalities) -> tuple[Fault, tuple[float, float]]:
    """The worst fault, and by how much values of relaxations and exact ones may be too low for all faults."""
    steps = 1 + lasting(q.model)
    allowed = _rounding(q)
    worst = max((*_tables(q), *_entries(q, range(len(q.proof.weights)))), key=lambda fault: fault.excess)
    q.doubt = doubt = (worst.excess + allowed) * steps
    exact = max(_entries(q, (EXACT,)), key=lambda fault: fault.excess, default=Fault(0.0, ""))
    q.reserve = reserve(q.model, _longest(q.rests, len(q.proof.entry_point)))
    return max(worst, exact, key=lambda fault: fault.excess), (doubt, doubt + (exact.excess + allowed) * steps)


def _longest(rests: list[tuple[IntArray, IntArray]], n: int) -> int:
    """The longest chain of n entries of which each rests on an earlier one; or n, if it is long."""
    length = np.zeros(n, dtype=np.int64)
    for longest in range(_LONGEST_CHAIN):
        before = length.copy()
        for entry, on in rests:
            np.maximum.at(length, entry, before[on] + 1)
        if np.array_equal(length, before):
            return longest
    return n


def _rounding(q: Inequalities) -> float:
    """More than rounding, and one belief in the place of its twin, can do to an inequality."""
    model, proof = q.model, q.proof
    finite_values = proof.entry_value[np.isfinite(proof.entry_value)]
    earned = float(np.abs(model.reward).max()) * lasting(model)
    largest = max(
        float(np.abs(proof.table).max(initial=0.0)),
        float(np.abs(finite_values).max(initial=0.0)),
        float((np.abs(proof.weights) @ [earned, *q.cap]).max()),
        earned,
    )
    terms = 2 * model.n_states + model.n_observations + 64
    return (8 * terms * UNIT + 4 * TWIN) * largest


def _tables(q: Inequalities) -> Iterator[Fault]:
    """The worst fault of each level of each table, for each action."""
    p, model = q.proof, q.model
    over = np.asarray(q.corners @ (~model.terminal).astype(np.float64)) == 0
    for a in range(model.n_actions):
        for j, t, needed in q.table_steps(a):
            excess = _excess(np.where(over, 0.0, needed), p.table[t, :, a])
            i = int(excess.argmax())
            where = f"state {model.states[i]!r}" if i < model.n_states else f"one-step belief {i - model.n_states}"
            yield Fault(
                float(excess[i]),
                f"in relaxation {j}, table level {p.table_level[t]:.9g}, the value {p.table[t, i, a]:.9g} of "
                f"{model.actions[a]!r} at {where} is too low by {excess[i]:.3g}",
            )


def _entries(q: Inequalities, modes: Any) -> Iterator[Fault]:
    """The worst fault of the entries of each mode, for each action."""
    p = q.proof
    for mode in modes:
        at = np.flatnonzero(p.entry_mode == mode)
        if not at.size:
            continue
        needed = q.hints(mode, at)
        for a in range(q.model.n_actions):
            unproven = np.flatnonzero(~(needed[:, a] <= p.entry_value[at, a]))
            if unproven.size:
                yield _worst(q, mode, at[unproven], a)


def _worst(q: Inequalities, mode: int, at: IntArray, a: int) -> Fault:
    value = q.proof.entry_value[at, a]
    needed = q.steps(mode, at, a)
    excess = _excess(needed, value)
    i = int(excess.argmax())
    point = int(q.proof.entry_point[at[i]])
    row = slice(q.points.indptr[point], q.points.indptr[point + 1])
    some = zip(q.points.indices[row].tolist()[:4], q.points.data[row].tolist()[:4], strict=True)
    belief = ", ".join(f"{q.model.states[s]!r}: {x:.6g}" for s, x in some)
    more = ", ..." if row.stop - row.start > 4 else ""
    budget = ", ".join(f"{d:.9g}" for d in q.budget[at[i]]) or "none"
    kind = "exact" if mode == EXACT else f"relaxation {mode}"
    return Fault(
        float(excess[i]),
        f"at point {point} {{{belief}{more}}} with budget {budget} ({kind}) the value {value[i]:.9g} of "
        f"{q.model.actions[a]!r} is below {needed[i]:.9g}, which follows from the others",
    )


def _bounds(q: Inequalities, doubts: tuple[float, float]) -> Iterator[float]:
    """Bounds at the initial belief; `doubts` are by how much relaxations and exact entries may be too low."""
    p, model = q.proof, q.model
    limit = np.array(model.spending_limit, dtype=np.float64).reshape(1, -1)
    budget = limit if p.criterion == EVERY_HISTORY else np.full_like(limit, np.inf)
    root = np.zeros(1, dtype=np.int64)
    of_reward = _named(model, p.objective) == REWARD
    able = q.allowed(q.point_class[root], budget)[0]
    for j, weights in enumerate(p.weights):
        value = float(np.where(able, q.at_points(j, root, budget)[0], -np.inf).max()) + doubts[0]
        if p.criterion == NO_BUDGET:
            if np.array_equal(weights, p.objective):
                yield value
            continue
        value += float(q.allowance(j, limit)[0])
        if weights[0] == 0 and value < 0:
            yield -np.inf
        elif weights[0] == 1 and of_reward:
            yield value
    found = int(q.find(root, EXACT, budget * q.reserve)[0])
    if p.criterion == EVERY_HISTORY and found >= 0 and of_reward:
        yield float(p.entry_value[found].max()) + doubts[1]


def _shown(upper: float) -> str:
    return "that no policy keeps the budget" if upper == -np.inf else f"{upper:.12g}"
