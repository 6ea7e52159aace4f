"""Episodes of one model side by side: what the environments share.

Episode j of an environment that was seeded with s is run j of ``simulate(..., seed=s)``, to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import FloatArray, IntArray
from ..errors import InputError
from ..kernels.simulation.episodes import Runs, StepOutcome, advance, begin
from ..kernels.simulation.rollout import BLOCK_RUNS
from ..model import CPOMDP, beliefs
from ..simulation import random_streams

_ROOM = 16  # states that a belief has room for at first


class EpisodeBatch:
    """n episodes, each with its own hidden state, belief, spending and random numbers."""

    def __init__(self, model: CPOMDP, n: int) -> None:
        self.model = model
        self.all = np.arange(n)
        self.steps = np.zeros(n, dtype=np.int64)
        self._start = beliefs.initial(model)
        self._seeds = [0] * n
        self._next = np.zeros(n, dtype=np.int64)  # the next run of each seed
        room = max(_ROOM, self._start.states.size)
        self._runs = Runs(
            state=np.zeros(n, dtype=np.int64),
            size=np.zeros(n, dtype=np.int64),
            support=np.zeros((n, room), dtype=np.int32),
            probs=np.zeros((n, room)),
            weight=np.ones((n, model.n_costs)),
            paid=np.empty(model.n_costs),
            spent=np.zeros((n, model.n_costs)),
            left=np.zeros((n, model.n_costs)),
            block=np.zeros((n, 4), dtype=np.uint64),
            place=np.zeros(n, dtype=np.int64),
            bits=np.zeros((n, 2), dtype=np.uint64),
        )
        s = model.n_states
        index, real = np.int32, np.float64
        self._scratch = np.zeros(s), np.empty(s, dtype=index), np.empty(s, dtype=index), np.empty(s, dtype=real)

    def seed(self, i: int, seed: int, run: int = 0) -> None:
        """Let environment i go on with this run of the seed."""
        self._seeds[i] = seed
        self._next[i] = run
        if run % BLOCK_RUNS:
            self._load(i)

    def begin(self, these: IntArray) -> None:
        """Start the next run of each of these environments."""
        place = self._next[these] % BLOCK_RUNS
        for i in these[place == 0]:
            self._load(int(i))
        self._runs.place[these] = place
        self._next[these] += 1
        self.steps[these] = 0
        begin(self._runs, self.model.budget, *self._start, these)

    def step(self, actions: Any, these: IntArray) -> StepOutcome:
        """Act in these environments; the others show nothing: no observation, no reward, no cost."""
        model, n = self.model, self.all.size
        out = StepOutcome(
            observation=np.full(n, model.n_observations),
            reward=np.zeros(n),
            cost=np.zeros((n, model.n_costs)),
            ended=np.zeros(n, dtype=np.bool_),
            known=np.zeros(n, dtype=np.bool_),
        )
        actions = self._checked(actions, these)
        fixed = model.arrays, model.terminal, model.budget, model.spending_limit
        done = 0
        while True:
            done = advance(*fixed, self._runs, these, done, actions, out, *self._scratch)
            if done == these.size:
                break
            self._widen()
        self.steps[these] += 1
        return out

    @property
    def state(self) -> IntArray:
        """The hidden state of each run, [n]."""
        return self._runs.state

    def info(self, cost: FloatArray, belief: bool) -> dict[str, Any]:
        """The info beside observation and reward, as new arrays, [n, ...]."""
        told = {"cost": cost, "spent": self._runs.spent.copy(), "remaining_budget": self._runs.left.copy()}
        return told | {"belief": self._beliefs()} if belief else told

    def _beliefs(self) -> FloatArray:
        dense = np.zeros((self.all.size, self.model.n_states))
        here = np.arange(self._runs.support.shape[1]) < self._runs.size[:, None]
        dense[np.nonzero(here)[0], self._runs.support[here]] = self._runs.probs[here]
        return dense

    def _load(self, i: int) -> None:
        """The generator of the block that the next run of environment i is in."""
        world, _ = random_streams.generators(self._seeds[i], int(self._next[i]) // BLOCK_RUNS)
        words = world.bit_generator.state["state"]
        self._runs.block[i] = *divmod(words["state"], 2**64), *divmod(words["inc"], 2**64)

    def _widen(self) -> None:
        room = self._runs.support.shape[1]
        more = ((0, 0), (0, min(room, self.model.n_states - room)))
        self._runs = self._runs._replace(support=np.pad(self._runs.support, more), probs=np.pad(self._runs.probs, more))

    def _checked(self, actions: Any, these: IntArray) -> IntArray:
        given = np.asarray(actions)
        if given.shape != self.all.shape or given.dtype.kind not in "iu":
            raise InputError(f"{actions!r} is not one index of an action per environment")
        wrong = these[(given[these] < 0) | (given[these] >= self.model.n_actions)]
        if wrong.size:
            raise InputError(f"action {given[wrong[0]]} is not between 0 and {self.model.n_actions - 1}")
        return given.astype(np.int64, copy=False)
