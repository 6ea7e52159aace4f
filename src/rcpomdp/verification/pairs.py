"""The beliefs that a controller can hold at each of its nodes: what its histories spend."""

from __future__ import annotations

import math
from collections import deque
from hashlib import blake2b
from typing import Any

import numpy as np

from .._types import AnyArray, FloatArray
from ..tolerance import same
from .chain import Chain, entries
from .worst import Worst, worst

_ROUNDS = 20  # of walking and looking what it brought, to tell the worst spending
_STRIDE = 2_000  # pairs that are walked before what they brought is looked at
_VISITS = 8  # of one pair in one walk
_ENTRIES = 50_000_000  # states of beliefs that were found and not walked yet
_FAINT = 1e-290  # a probability that would never fade to 0 but for rounding
_TOLD = 100_000  # steps of a history that spends without end
_SHOWN = 24  # steps of a history that a sentence tells


class Pairs:
    """Pairs of a node and a belief, or of a node and a support, found by following the policy from the start."""

    def __init__(self, chain: Chain, supports: Pairs | None, start: int | None = None) -> None:
        """Without `supports` these are pairs of node and support; with them, of node and belief.

        `start` is the node of the first step, the policy's own unless given.
        """
        self.chain, self.supports = chain, supports
        model = chain.model
        self.model, self.beta, self.limit = model, model.cost_discount, model.spending_limit
        self.node: list[int] = []
        self.high: list[FloatArray] = []  # [K] what can follow a pair at most, by what is known without walking it
        self.here: list[FloatArray] = []  # [K] cost of its step, once it was walked
        self.after: list[list[tuple[int, int]]] = []  # (observation, pair); none until it was walked
        self.expanded = 0
        # Where nothing is discounted, what fades away must be over at some time, or its rounding adds up for ever.
        self._faint = _FAINT if (self.beta == 1).any() else 0.0
        self._held: dict[int, tuple[AnyArray, FloatArray | None]] = {}  # its states, until it was walked
        self._entries = 0  # of them all
        self._number: dict[bytes, int] = {}
        unit = max(2.0**-50, min(2.0**-30, 1e-11 * model.fade))  # relative difference that counts as none
        self._drop = 52 + math.floor(math.log2(unit))
        states = np.flatnonzero(model.initial_belief).astype(model.transition[0].indices.dtype)
        first = chain.policy.start if start is None else start
        self._add(first, states, model.initial_belief[states] if supports else None)

    def _add(self, node: int, states: AnyArray, probability: FloatArray | None) -> int:
        live = states[~self.model.terminal[states]]
        if probability is None:
            states = live
        key = self._key(node, states, probability)
        i = self._number.setdefault(key, len(self.node))
        if i == len(self.node):
            self.node.append(node)
            self.high.append(self._bound(node, live))
            self.here.append(np.zeros(self.model.n_costs))
            self.after.append([])
            self._held[i] = (states, probability)
            self._entries += states.size
        return i

    def _key(self, node: int, states: AnyArray, probability: FloatArray | None) -> bytes:
        digest = blake2b(node.to_bytes(8, "little"), digest_size=16)
        digest.update(np.ascontiguousarray(states).data)
        if probability is not None:  # the bits of a positive float grow with it: dropping some rounds it
            digest.update(((probability.view(np.int64) + (1 << self._drop >> 1)) >> self._drop).data)
        return digest.digest()

    def _bound(self, node: int, live: AnyArray) -> FloatArray:
        if not live.size:
            return np.zeros(self.model.n_costs)
        if self.supports is not None:
            i = self.supports._number.get(self.supports._key(node, live, None))
            if i is not None:
                return self.supports.high[i]
        return self.chain.bound(node, live)

    def expand(self, i: int) -> None:
        """Walk a pair: the cost of its step, and the pairs that follow."""
        if i not in self._held:
            return
        states, probability = self._held.pop(i)
        self._entries -= states.size
        model, a = self.model, int(self.chain.policy.actions[self.node[i]])
        cost = model.cost[:, states, a]
        self.here[i] = cost.max(axis=1, initial=0.0) if probability is None else cost @ probability
        t, z = model.transition[a], model.observation[a]
        moved, entry = entries(t.indptr, states)
        lands, place = np.unique(t.indices[entry], return_inverse=True)
        seen, z_entry = entries(z.indptr, lands)
        order = np.argsort(z.indices[z_entry], kind="stable")
        observation, landed = z.indices[z_entry][order], lands[seen][order]
        weight: FloatArray | None = None
        if probability is not None:
            arrives = np.bincount(place, probability[moved] * t.data[entry])
            weight = (arrives[seen] * z.data[z_entry])[order]
        ends = np.flatnonzero(np.diff(observation, append=-1)) + 1
        first = 0
        for last in ends.tolist():
            part = slice(first, last)
            o = int(observation[first])
            for successor in self.chain.followers(self.node[i], o):
                if weight is None:
                    self.after[i].append((o, self._add(successor, landed[part], None)))
                elif (total := weight[part].sum()) > 0:
                    there = weight[part] > self._faint * total
                    belief = weight[part][there] / total
                    self.after[i].append((o, self._add(successor, landed[part][there], belief)))
            first = last
        self.expanded += 1

    def _full(self, most: int) -> bool:
        return len(self.node) >= most or self._entries > _ENTRIES

    def walk_all(self, most: int) -> None:
        """Walk whatever can still cost something, the nearest first; then bound what follows each pair."""
        i = 0
        while i < len(self.node) and not self._full(most):
            if self.high[i].any():
                self.expand(i)
            i += 1
        self.high = list(self._values(self.high)[0].T)

    def _values(self, leaf: list[FloatArray]) -> tuple[FloatArray, list[Worst]]:
        """The most that can follow each pair, [K, pairs], if `leaf` follows those that were not walked."""
        here = np.array([leaf[i] if i in self._held else c for i, c in enumerate(self.here)])
        parent = np.repeat(np.arange(len(self.node)), [len(after) for after in self.after])
        child = np.array([pair for after in self.after for _, pair in after], dtype=np.int64)
        found = [worst(c, parent, child, beta) for c, beta in zip(here.T, self.beta.tolist(), strict=True)]
        return np.array([way.above for way in found]).reshape(len(found), len(here)), found

    def _range(self) -> tuple[FloatArray, FloatArray, list[Worst], list[Worst]]:
        """Spending of some history, sure cost, [K] each, and the worst moves by either measure."""
        high, by_high = self._values(self.high)
        _, by_low = self._values([np.zeros(self.model.n_costs)] * len(self.node))
        low = np.array([way.value[0] for way in by_low])
        return low, np.maximum(high[:, 0], low), by_low, by_high

    def keeps(self, most: int) -> tuple[str | None, tuple[tuple[str, str], ...]]:
        """None if the budget holds in every history, else a sentence that says where it may not, and that history."""
        low, high, by_low = self.decide(self.limit, most)
        for k in np.flatnonzero(low > self.limit).tolist():
            return self._broken(k, by_low[k])
        for k in np.flatnonzero(high > self.limit).tolist():
            return (
                f"{self.expanded:,} pairs of node and belief do not decide it: some history spends {low[k]:.6g}, "
                f"none more than {high[k]:.6g}, and {self.model.budget[k]:.6g} is the budget",
                (),
            )
        return None, ()

    def decide(self, limit: FloatArray, most: int) -> tuple[FloatArray, FloatArray, list[Worst]]:
        """Walk until some history spends more than a limit, or none does, or there is too much to walk.

        Returns the spending of some history and the sure cost, [K] each, and the worst moves of histories.
        """
        while True:
            before = self.expanded
            self._walk(limit, min(most, 2 * len(self.node) + _STRIDE), to_the_end=False)
            low, high, by_low, by_high = self._range()
            if (low > limit).any() or (high <= limit).all():
                return low, high, by_low
            if not self._full(most):
                for k in np.flatnonzero(high > limit).tolist():
                    self._pursue(k, by_high[k].end_of_path(), 1 + len(self.node) // 8)
            if self.expanded == before:
                return low, high, by_low

    def keeps_steps(self, most: int) -> tuple[str | None, tuple[tuple[str, str], ...]]:
        """The answer of `keeps` to ``C(b_t, a_t) ≤ limit`` at every step, for costs that have a limit for each."""
        limit = self.model.arrays.step_limit
        past: dict[int, Any] = {0: None}
        for i in (queue := [0]):
            if not self.chain.may_break[self.node[i]]:
                continue
            if i in self._held and self._full(most):
                return f"{self.expanded:,} pairs of node and belief do not decide whether a step costs too much", ()
            self.expand(i)
            for k in np.flatnonzero(self.here[i] > limit).tolist():
                steps = [
                    *unwound(past[i]),
                    (str(self.model.actions[int(self.chain.policy.actions[self.node[i]])]), ""),
                ]
                which = f" of {self.model.costs[k]}" if self.model.n_costs > 1 else ""
                before = f"after {tell(steps[:-1])}" if len(steps) > 1 else "at the start"
                told = (
                    f"{before} the step {steps[-1][0]} costs {apart(float(self.here[i][k]), self.model.step_limit[k])}"
                )
                return f"{told}{which}", tuple(steps[:-1])
            for o, pair in self.after[i]:
                if pair not in past:
                    past[pair] = (self._step(i, o), past[i])
                    queue.append(pair)
        return None, ()

    def _walk(self, limit: FloatArray, most: int, to_the_end: bool) -> None:
        """Walk the pairs that may exceed the limit, with the least that is left there of it, the nearest first.

        What is left is only a guide: it grows by 1/β at each step, and so does its rounding. Unless the walk is to go
        on to the end, it stops where too much has been spent; the history is then found by its value.
        """
        left: dict[int, FloatArray] = {}
        visits: dict[int, int] = {}
        queue = deque([(0, limit)])
        while queue and not self._full(most):
            i, d = queue.popleft()
            known = left.get(i)
            if known is not None:
                if (d >= known).all() or visits[i] == _VISITS:
                    continue
                d = np.minimum(d, known)
            left[i], visits[i] = d, visits.get(i, 0) + 1
            if not (self.high[i] > np.maximum(d, 0.0)).any():
                continue
            self.expand(i)
            with np.errstate(all="ignore"):
                rest = np.nan_to_num((d - self.here[i]) / self.beta, nan=0.0, posinf=np.inf, neginf=-np.inf)
            if not to_the_end and (d < self.here[i]).any():
                return
            queue.extend((pair, rest) for _, pair in self.after[i])

    def sharpened(self, most: int) -> tuple[FloatArray, FloatArray]:
        """Spending of some history and sure cost, [K] each, brought together by walking the worst pairs."""
        for _ in range(_ROUNDS):
            low, high, _, by_high = self._range()
            apart = np.flatnonzero(~same(low, high)).tolist()
            if self._full(most) or not apart:
                break
            before = self.expanded
            self._walk(low, most, to_the_end=True)
            for k in apart if self.expanded == before else ():
                self._pursue(k, by_high[k].end_of_path(), _ROUNDS)
            if self.expanded == before:
                break
        low, high, *_ = self._range()
        return low, high

    def _pursue(self, k: int, i: int, steps: int) -> None:
        """Walk from a pair on, always to what may cost most."""
        for _ in range(steps):
            if i not in self._held or not self.high[i][k]:
                return
            self.expand(i)
            i = max((pair for _, pair in self.after[i]), key=lambda pair: (self.high[pair][k], self._cost(k, pair)))

    def _cost(self, k: int, i: int) -> float:
        """The cost of a pair's step, whether it was walked or not."""
        if i not in self._held:
            return float(self.here[i][k])
        states, probability = self._held[i]
        cost = self.model.cost[k, states, int(self.chain.policy.actions[self.node[i]])]
        return float(cost.max(initial=0.0) if probability is None else cost @ probability)

    def _broken(self, k: int, way: Worst) -> tuple[str, tuple[tuple[str, str], ...]]:
        spent, weight, i = 0.0, 1.0, 0
        steps: list[tuple[str, str]] = []
        # A circle that costs next to nothing takes too long to tell round by round: one round of it says enough.
        most = _TOLD + 2 * len(self.node) if np.isinf(way.value[0]) else 10_000_000
        while self.after[i] and spent <= self.limit[k]:
            if len(steps) == most:
                first = self._first_round(way)
                return f"after {tell(steps[:first])} and so on for ever the policy spends without end", ()
            spent += weight * float(self.here[i][k])
            weight *= float(self.beta[k])
            after = int(way.move[i])
            observation = next(o for o, pair in self.after[i] if pair == after)
            steps.append(self._step(i, observation))
            i = after
        which = f" of {self.model.costs[k]}" if self.model.n_costs > 1 else ""
        told = f"after {tell(steps)} the policy has spent {apart(spent, self.model.budget[k])}{which}"
        return told, tuple(steps)

    def _first_round(self, way: Worst) -> int:
        """Steps from the start to where the worst moves have gone round a circle once."""
        met: set[int] = set()
        i = 0
        while i not in met:
            met.add(i)
            i = int(way.move[i])
        return len(met)

    def _step(self, i: int, observation: int) -> tuple[str, str]:
        action = int(self.chain.policy.actions[self.node[i]])
        return str(self.model.actions[action]), str(self.model.observations[observation])

    def keeps_for(self, length: int, most: int) -> tuple[str | None, tuple[tuple[str, str], ...]]:
        """The answer of `keeps` to ``W(h_t) + β^t V_C(b_t) ≤ limit`` for t < length (the paper's k-admissibility)."""
        future, error = self.chain.expected_costs()
        n = self.model.n_states
        expected: dict[int, FloatArray] = {}

        def to_come(i: int) -> FloatArray:
            if i not in expected:
                states, probability = self._held[i]
                live = np.flatnonzero(~self.model.terminal[states])
                pairs = self.chain.find(self.node[i] * n + states[live].astype(np.int64))
                expected[i] = future[:, pairs] @ np.asarray(probability)[live] + error
            return expected[i]

        for k in range(self.model.n_costs):
            level: dict[int, tuple[float, Any]] = {0: (0.0, None)}
            for t in range(length):
                following: dict[int, tuple[float, Any]] = {}
                weight = float(self.beta[k]) ** t
                for i, (spent, past) in level.items():
                    if spent + weight * float(self.high[i][k]) <= self.limit[k]:
                        continue  # what is expected is no more than what is surely enough
                    if (total := spent + weight * float(to_come(i)[k])) > self.limit[k]:
                        steps = unwound(past)
                        when = f"after {tell(steps)}" if steps else "at the start"
                        told = f"{when} the policy expects to spend {apart(total, self.model.budget[k])} in all"
                        return told, tuple(steps)
                    if self._full(most):
                        return f"{self.expanded:,} pairs of node and belief do not decide it", ()
                    self.expand(i)
                    now = spent + weight * float(self.here[i][k])
                    for o, pair in self.after[i]:
                        if pair not in following or following[pair][0] < now:
                            to_come(pair)  # while its belief is held
                            following[pair] = (now, (self._step(i, o), past))
                if not (level := following):
                    break
        return None, ()


def unwound(past: Any) -> list[tuple[str, str]]:
    """The steps of a history kept as (last step, history before it)."""
    steps = []
    while past is not None:
        step, past = past
        steps.append(step)
    return steps[::-1]


def tell(steps: list[tuple[str, str]]) -> str:
    """A history in words, repetitions together and the middle of a long one left out."""
    groups: list[list[Any]] = []
    for step in steps:
        if groups and groups[-1][0] == step:
            groups[-1][1] += 1
        else:
            groups.append([step, 1])
    words = [f"{a}:{o}" + (f" ({times} times)" if times > 1 else "") for (a, o), times in groups]
    if len(words) > _SHOWN:
        half = _SHOWN // 2
        words = [*words[:half], f"… {len(words) - 2 * half} more …", *words[-half:]]
    return ", ".join(words)


def apart(spent: float, budget: float) -> str:
    """``spent > budget`` with as many digits as it takes to see it."""
    for digits in range(6, 17):
        if f"{spent:.{digits}g}" != f"{budget:.{digits}g}":
            break
    return f"{spent:.{digits}g} > {budget:.{digits}g}"
