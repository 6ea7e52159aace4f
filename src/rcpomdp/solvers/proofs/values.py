"""Values of a proof's entries, worked out anew by the very inequalities that the checker tests.

What follows each entry is laid out once, as sparse matrices, and swept from the deepest entries to the first. Values
start from the bounds of the search and are raised until the inequalities hold but for next to nothing; they may then
be lowered as far as these allow, where the search knew less of a belief than what follows from the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from ..._types import BoolArray, FloatArray, IntArray
from ...model import CPOMDP
from ...verification.ground import lasting
from ...verification.inequalities import Inequalities, Steps, kinds, least_of
from ...verification.proof import EXACT, Proof

_DOUBT = 1e-7  # relative: what the checker will allow for at most, it is hoped
_NO_COVER = -1
_SHORT = 500  # entries that are swept at once at least


class Values(Inequalities):
    """The inequalities of a proof, and values of its entries that meet them.

    Parameters
    ----------
    follows : [E, A] actions that are followed
    known : [E] bounds of the search
    depth : [E] never rises along the entries
    least : what may fail in all
    """

    def __init__(
        self, model: CPOMDP, proof: Proof, follows: BoolArray, known: FloatArray, depth: IntArray, least: float
    ) -> None:
        super().__init__(model, proof)
        self.follows, self.known, self.depth = follows, known, depth
        self.least = least / (2 * (1 + lasting(model)))
        least_gain = min(float(self.gain(j).min()) for j in range(len(proof.weights)))
        self.lowest = min(lasting(model) * least_gain, 0.0) - 1.0  # in the place of −inf in relaxations
        self.value = np.full(proof.entry_value.shape, np.inf)
        self.hint = self.value.copy()  # [E, A] what is proven without a step
        self.doubt = _DOUBT * (1.0 + float(np.abs(proof.table).max()))
        self.laid_out: dict[int, _Relaxed | _Exact] = {}
        present = [*range(len(proof.weights)), EXACT]
        self.modes = [m for m in present if (proof.entry_mode == m).any()]

    def settle(self, up: bool) -> None:
        """Raise what is too low, or lower what can be, one mode after the other: exact entries rest on the others."""
        for mode in self.modes:
            at = np.flatnonzero(self.proof.entry_mode == mode)
            hint = self.hints(mode, at)
            self.hint[at] = hint if mode == EXACT else np.maximum(hint, self.lowest)
            if up:
                self.value[at] = np.minimum(self.hint[at], self._start(at))
            else:
                self.value[at] = np.minimum(self.hint[at], self.value[at])
            if mode == EXACT or mode not in self.laid_out:
                self.laid_out[mode] = (_Exact if mode == EXACT else _Relaxed)(self, mode, at)
            self.laid_out[mode].sweep(up)

    def _start(self, at: IntArray) -> FloatArray:
        return np.where(self.follows[at], self.known[at, None], np.inf)

    def finished(self) -> tuple[Proof, IntArray, IntArray]:
        """The proof with these values, and which entries and covers the bound at the first point rests on."""
        n, m = len(self.value), len(self.proof.cover_point)
        none = np.zeros(0, dtype=np.int64)
        pairs = [(none, none), *(part for mode in self.modes for part in self.laid_out[mode].rests_on())]
        start, end = (np.concatenate([part[i] for part in pairs]) for i in (0, 1))
        leads: Any = sp.csr_array((np.ones(len(start), dtype=np.int8), (start, end)), shape=(n + m, n + m))
        root = np.flatnonzero((self.proof.entry_point == 0) & (self.depth == 0))[0]
        used = np.sort(breadth_first_order(leads, root, return_predecessors=False)).astype(np.int64)
        return self.proof._replace(entry_value=self.value), used[used < n], used[used >= n] - n

    def pairs(self, entry: IntArray, action: IntArray, jobs: IntArray, on: Any, cover: IntArray) -> list[Any]:
        """Which entry rests on which, and on which cover (numbered after the entries), from rows of jobs.

        Parameters
        ----------
        entry, action : [jobs]
        jobs, cover : [rows] job, and cover or −1
        on : [rows, E] sparse: the entries
        """
        due = self.value[entry, action] < self.hint[entry, action]  # others are proven without a step
        rows = np.flatnonzero(due[jobs])
        on = on[rows]
        owner = entry[jobs[rows]]
        by_cover = cover[rows] != _NO_COVER
        return [
            (np.repeat(owner, np.diff(on.indptr)), on.indices.astype(np.int64)),
            (owner[by_cover], len(self.value) + cover[rows][by_cover]),
        ]


def _steps(q: Values, mode: int, at: IntArray, a: int) -> Steps:
    entry = at[q.follows[at, a]]
    return q.lay_out(q.follow(np.unique(q.proof.entry_point[entry]), a), mode, entry, a)


def _targets(q: Values, s: Steps, j: int, lines: IntArray, left: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """(place among lines, entry, share) of the targets of lines that are better bounded by an entry than by a table."""
    found = []
    for target, share in zip(s.f.target, s.f.share, strict=True):
        at = np.flatnonzero(share[s.line[lines]] > 0)
        entry = q.find(target[s.line[lines[at]]], j, left[at])
        at, entry = at[entry >= 0], entry[entry >= 0]
        found.append((at, entry, share[s.line[lines[at]]]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    at, entry, share = (np.concatenate(part) for part in zip(*found, strict=True))
    coarse, point = q.coarse(j, left[at]), q.proof.entry_point[entry]
    table = np.empty(len(at))
    for t in kinds(coarse):
        table[coarse == t] = q.hinted(j, t)[point[coarse == t]].max(axis=1)
    better = q.known[entry] < table
    return at[better], entry[better], share[better]


class _Laid(NamedTuple):
    """What follows entries of a relaxation under one action: jobs, rows of these, and lines of those."""

    entry: IntArray  # [jobs] in order, the deepest first
    action: IntArray  # [jobs]
    gain: FloatArray  # [jobs]
    row_ptr: IntArray  # [jobs + 1]
    line_ptr: IntArray  # [rows + 1]
    const: FloatArray  # [lines, A] by tables
    shares: Any  # [lines, E]
    cover: IntArray  # [lines]


class _LaidExactly(NamedTuple):
    """What follows exact entries under one action."""

    entry: IntArray  # [jobs]
    action: IntArray  # [jobs]
    gain: FloatArray  # [jobs]
    row_ptr: IntArray  # [jobs + 1]
    base: FloatArray  # [rows, A] by relaxations
    mass: FloatArray  # [rows]
    twin: IntArray  # [rows] the exact entry of what follows, or −1
    twin_cover: IntArray  # [rows] by which it is found
    choice: IntArray  # [rows, A] what the base rests on:
    by: Any  # [choices, E] entries
    by_cover: IntArray  # [choices] and a cover


class _Relaxed:
    """Entries of a relaxation: ``gain + γ Σ_rows max_a' min_lines (const + shares @ value)``."""

    def __init__(self, q: Values, j: int, at: IntArray) -> None:
        self.q = q
        self.laid = [self._lay_out(j, at, a) for a in range(q.model.n_actions) if q.follows[at, a].any()]
        pieces = [
            (-int(q.depth[laid.entry[first]]), laid, first, last)
            for laid in self.laid
            for first, last in _cuts(q.depth[laid.entry])
        ]
        self.pieces = [piece[1:] for piece in sorted(pieces, key=lambda piece: piece[0])]

    def _lay_out(self, j: int, at: IntArray, a: int) -> _Laid:
        q, s = self.q, _steps(self.q, j, at, a)
        left, cls = s.left[s.owner], s.f.cls[s.row[s.owner]]
        lines = np.arange(len(s.line))
        place, entry, share = _targets(q, s, j, lines, left)
        over = s.f.over[s.row[s.owner]]
        const = np.empty((len(lines), q.model.n_actions))
        coarse = q.coarse(j, left)
        for t in kinds(coarse):
            here = np.flatnonzero(coarse == t)
            const[here] = q.of_rest(s.f, t, s.line[here])
        by_entry = np.zeros((len(s.f.target), len(lines)), dtype=np.bool_)
        for m, (target, part) in enumerate(zip(s.f.target, s.f.share, strict=True)):
            mine = q.proof.entry_point[entry] == target[s.line[place]]
            by_entry[m, place[mine]] = True
            some = np.flatnonzero((part[s.line] > 0) & ~by_entry[m])
            for t in kinds(coarse[some]):
                here = some[coarse[some] == t]
                const[here] += part[s.line[here], None] * q.hinted(j, t)[target[s.line[here]]]
        const[~q.allowed(cls, left)] = -np.inf
        const[over] = 0.0
        keep = ~over[place]
        size = len(lines), len(q.value)
        shares: Any = sp.csr_array((share[keep], (place[keep], entry[keep])), shape=size)
        gain = q.point_gain(j)[q.proof.entry_point[s.entry], a]
        rows = _pointer(np.bincount(s.job, minlength=len(s.entry)))
        count = _pointer(np.bincount(s.owner, minlength=len(s.row)))
        return _Laid(s.entry, np.full(len(s.entry), a), gain, rows, count, const, shares, s.f.cover[s.line])

    def sweep(self, up: bool) -> None:
        """Sweep until nothing moves."""
        q, moved = self.q, True
        while moved:
            moved = False
            for x, first, last in self.pieces:
                start, stop = int(x.row_ptr[first]), int(x.row_ptr[last])
                lines = slice(int(x.line_ptr[start]), int(x.line_ptr[stop]))
                each = x.const[lines] + x.shares[lines] @ q.value
                bound = least_of(each, x.line_ptr[start:stop] - lines.start).max(axis=1)
                total = np.add.reduceat(bound, x.row_ptr[first:last] - start)
                needed = np.maximum(x.gain[first:last] + q.model.discount * total, q.lowest)
                moved |= _move(q, x.entry[first:last], x.action[first:last], needed, up)

    def rests_on(self) -> list[Any]:
        """Which entries rest on which, and on which covers."""
        found = []
        for x in self.laid:
            each = x.const + x.shares @ self.q.value
            bound = least_of(each, x.line_ptr[:-1]).max(axis=1)
            owner = np.repeat(np.arange(len(bound)), np.diff(x.line_ptr))
            low_enough = np.where(each <= bound[owner, None], np.arange(len(owner))[:, None], len(owner))
            is_chosen = np.zeros(len(owner), dtype=np.bool_)
            is_chosen[least_of(low_enough, x.line_ptr[:-1])] = True
            chosen = np.flatnonzero(is_chosen)
            jobs = np.repeat(np.arange(len(x.entry)), np.diff(x.row_ptr))[owner[chosen]]
            found += self.q.pairs(x.entry, x.action, jobs, x.shares[chosen], x.cover[chosen])
        return found


class _Exact:
    """Exact entries: ``R + γ Σ_rows max_a' min(base, mass · value)``, where base is by relaxations, which stand."""

    def __init__(self, q: Values, mode: int, at: IntArray) -> None:
        self.q = q
        self.laid = [self._lay_out(at, a) for a in range(q.model.n_actions) if q.follows[at, a].any()]

    def _lay_out(self, at: IntArray, a: int) -> _LaidExactly:
        q, s = self.q, _steps(self.q, EXACT, at, a)
        p, n, first = q.proof, len(s.row), np.flatnonzero(np.diff(s.owner, prepend=-1))
        left, cls, mass = s.left[s.owner], s.f.cls[s.row[s.owner]], s.f.mass[s.row]
        base = np.full((n, q.model.n_actions), np.inf)
        line, way = np.zeros(base.shape, dtype=np.int64), np.full(base.shape, -1)  # of each base
        for j in range(len(p.weights)):
            each = q.covered(s.f, j, s.line, cls, left)
            found = least_of(each, first).copy()
            places = np.where(each <= found[s.owner], np.arange(len(s.owner))[:, None], len(s.owner))
            best = least_of(places, first)
            found += (mass * q.allowance(j, s.left))[:, None]
            if p.weights[j, 0] == 0:
                found = np.where(found < -q.doubt * mass[:, None], -np.inf, np.inf)
            elif p.weights[j, 0] != 1:
                continue
            lower = found < base
            base[lower], line[lower], way[lower] = found[lower], best[lower], j
        over = s.f.over[s.row]
        base[over], way[over] = 0.0, -1
        # Each line and relaxation that a base rests on, once
        key, choice = np.unique(np.where(way >= 0, way * len(s.owner) + line, -1), return_inverse=True)
        pairs = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
        for j in range(len(p.weights)):
            mine = np.flatnonzero(key // max(len(s.owner), 1) == j)
            lines = key[mine] % max(len(s.owner), 1)
            place, entry, _ = _targets(q, s, j, lines, left[lines])
            pairs.append((mine[place], entry))
        place, entry = (np.concatenate(part) for part in zip(*pairs, strict=True))
        by: Any = sp.csr_array((np.ones(len(place)), (place, entry)), shape=(len(key), len(q.value)))
        by_cover = np.where(key >= 0, s.f.cover[s.line[key % max(len(s.owner), 1)]], _NO_COVER)
        twin, twin_cover = np.full(n, -1), np.full(n, _NO_COVER)
        some = np.flatnonzero(s.f.twin[s.line] & ~over[s.owner])
        if some.size:
            same = q.find(s.f.target[0][s.line[some]], EXACT, left[some])
            some, same = some[same >= 0], same[same >= 0]
            twin[s.owner[some]], twin_cover[s.owner[some]] = same, s.f.cover[s.line[some]]
        gain = q.point_gain(EXACT)[p.entry_point[s.entry], a]
        row_ptr = _pointer(np.bincount(s.job, minlength=len(s.entry)))
        action = np.full(len(s.entry), a)
        choice = choice.reshape(base.shape)
        return _LaidExactly(s.entry, action, gain, row_ptr, base, mass, twin, twin_cover, choice, by, by_cover)

    def _bounds(self, x: _LaidExactly) -> tuple[FloatArray, FloatArray]:
        """Bounds of rows, [n], and those by exact entries, [n, A]; as the checker has it for what is impossible."""
        padded = np.concatenate([self.q.value, np.full((1, x.base.shape[1]), np.inf)])
        twins = padded[x.twin] * x.mass[:, None]
        later = x.twin >= np.repeat(x.entry, np.diff(x.row_ptr))
        bound = np.minimum(x.base, twins).max(axis=1)
        doubtful = np.flatnonzero((bound == -np.inf) & later)
        before = np.where(twins[doubtful] == -np.inf, np.inf, twins[doubtful])
        bound[doubtful] = np.minimum(x.base[doubtful], before).max(axis=1)
        return bound, twins

    def sweep(self, up: bool) -> None:
        """Sweep until nothing moves."""
        q, moved = self.q, True
        while moved:
            moved = False
            for x in self.laid:
                total = np.add.reduceat(self._bounds(x)[0], x.row_ptr[:-1])
                moved |= _move(q, x.entry, x.action, x.gain + q.model.discount * total, up)

    def rests_on(self) -> list[Any]:
        """Which entries rest on which, those of relaxations at the same point among them, and on which covers."""
        q, p = self.q, self.q.proof
        at = np.flatnonzero(p.entry_mode == EXACT)
        here = [q.find(p.entry_point[at], j, q.budget[at]) for j in range(len(p.weights))]
        found = [(at[on >= 0], on[on >= 0]) for on in here]
        for x in self.laid:
            bound, twins = self._bounds(x)
            by_twin = (x.base > bound[:, None]) & (twins < x.base)
            jobs = np.repeat(np.arange(len(x.entry)), np.diff(x.row_ptr))
            rows = np.flatnonzero(by_twin.any(axis=1))
            one: Any = sp.csr_array(
                (np.ones(len(rows)), x.twin[rows], np.arange(len(rows) + 1)), shape=(len(rows), len(q.value))
            )
            found += q.pairs(x.entry, x.action, jobs[rows], one, x.twin_cover[rows])
            row, a = np.nonzero(~by_twin)
            pair = np.unique(row * len(x.by_cover) + x.choice[row, a])
            row, choice = pair // len(x.by_cover), pair % len(x.by_cover)
            found += q.pairs(x.entry, x.action, jobs[row], x.by[choice], x.by_cover[choice])
        return found


def _move(q: Values, entry: IntArray, action: IntArray, needed: FloatArray, up: bool) -> bool:
    """Raise values that are too low, or lower those that can be; whether any has moved."""
    value = q.value[entry, action]
    needed = np.minimum(needed, q.hint[entry, action])
    moves = needed > value + q.least if up else needed < value - q.least
    q.value[entry[moves], action[moves]] = needed[moves]
    return bool(moves.any())


def _cuts(depth: IntArray) -> list[tuple[int, int]]:
    """Stretches of one depth, or of several that are short."""
    cuts, first = [], 0
    for last in [*(np.flatnonzero(np.diff(depth)) + 1).tolist(), len(depth)]:
        if last - first >= _SHORT or last == len(depth):
            cuts.append((first, last))
            first = last
    return cuts


def _pointer(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
