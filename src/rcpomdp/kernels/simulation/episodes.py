"""One step of many runs at once, each with random numbers of its own.

The numbers are those of NumPy's PCG64 (O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically Good
Algorithms, 2014): ``x' = A x + c`` in 128 bits, of which 64 are given out. So a run draws the same numbers here as in
`simulate`. Over the numbers of other runs it jumps: d steps are ``x' = A^d x + G_d c``, ``G_d = 1 + A + … + A^(d−1)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._types import BoolArray, FloatArray, IndexArray, IntArray
from ..arrays import ModelArrays
from ..jit import inner, kernel
from .rollout import BLOCK_RUNS, draw, fill_expected_cost, step, surely_ended

BitArray = NDArray[np.uint64]

_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # A
_WORD = 2**64
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_BITS = np.uint64(63)


def _jumps(n: int) -> BitArray:
    """A^d and G_d for every d below n, each as its high and its low word: [n, 4]."""
    table = np.empty((n, 4), dtype=np.uint64)
    power, total = 1, 0
    for d in range(n):
        table[d] = *divmod(power, _WORD), *divmod(total, _WORD)
        total = (total * _MULTIPLIER + 1) % _WORD**2
        power = power * _MULTIPLIER % _WORD**2
    return table


_JUMP = _jumps(2 * BLOCK_RUNS)


class Runs(NamedTuple):
    """State of each of n runs."""

    state: IntArray  # [n] hidden
    size: IntArray  # [n] of the belief's support
    support: IndexArray  # [n, room] states of the belief in increasing order
    probs: FloatArray  # [n, room]
    weight: FloatArray  # [n, K] β^t
    paid: FloatArray  # [K] scratch
    spent: FloatArray  # [n, K] W: Σ β^τ C_k(b_τ, a_τ) so far
    left: FloatArray  # [n, K] d of ``d' = (d − C(b, a)) / β``, (ĉ − W) / β^t; below 0 where W is above its limit
    block: BitArray  # [n, 4] the block's generator at its beginning: x and c, each as its high and its low word
    place: IntArray  # [n] of the run in its block
    bits: BitArray  # [n, 2] x after the last number drawn


class StepOutcome(NamedTuple):
    """The outcome of a step of each run."""

    observation: IntArray  # [n]
    reward: FloatArray  # [n]
    cost: FloatArray  # [n, K]
    ended: BoolArray  # [n] whether the process has ended
    known: BoolArray  # [n] whether the belief is sure of that


@inner
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The high and the low word of the product of two words."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    middle = a_high * b_low + (a_low * b_low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), a * b


@inner
def _jump(high: np.uint64, low: np.uint64, c_high: np.uint64, c_low: np.uint64, d: int) -> tuple[np.uint64, np.uint64]:
    """``A^d x + G_d c``."""
    a_high, a_low, g_high, g_low = _JUMP[d, 0], _JUMP[d, 1], _JUMP[d, 2], _JUMP[d, 3]
    x_high, x_low = _product(a_low, low)
    y_high, y_low = _product(g_low, c_low)
    total = x_low + y_low
    carry = np.uint64(1) if total < x_low else np.uint64(0)
    return x_high + a_high * low + a_low * high + y_high + g_high * c_low + g_low * c_high + carry, total


@inner
def _uniform(high: np.uint64, low: np.uint64) -> float:
    """The double in [0, 1) that a state gives out: its words' xor, turned by its highest bits."""
    x, turn = high ^ low, high >> np.uint64(58)
    x = x >> turn | x << (np.uint64(64) - turn & _BITS)
    return float(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def uniforms(bits: BitArray, skip: int, out: FloatArray) -> None:
    """Skip so many numbers of the generator ``bits [4]``, then draw."""
    high, low = _jump(bits[0], bits[1], bits[2], bits[3], skip)
    for i in range(out.size):
        high, low = _jump(high, low, bits[2], bits[3], 1)
        out[i] = _uniform(high, low)


@kernel
def _left(budget: float, limit: float, spent: float, weight: float) -> float:
    """Remaining budget; once β^t is 0 nothing counts any more, and it is 0 or infinite."""
    left = budget - spent
    if left < 0.0 and spent <= limit:
        left = 0.0
    return left / weight if left != 0.0 else 0.0


@kernel
def begin(runs: Runs, budget: FloatArray, states0: IndexArray, probs0: FloatArray, these: IntArray) -> None:
    """Put these runs at the initial belief, each in a state drawn from it."""
    for j in range(these.size):
        i = these[j]
        c_high, c_low = runs.block[i, 2], runs.block[i, 3]
        high, low = _jump(runs.block[i, 0], runs.block[i, 1], c_high, c_low, runs.place[i] + 1)
        runs.state[i] = states0[draw(0, states0.size, probs0, _uniform(high, low))]
        # over the other runs' starts, and over the pairs that runs before this one draw in the first step
        high, low = _jump(high, low, c_high, c_low, BLOCK_RUNS - 1 + runs.place[i])
        runs.bits[i, 0], runs.bits[i, 1] = high, low
        runs.size[i] = states0.size
        for e in range(states0.size):
            runs.support[i, e] = states0[e]
            runs.probs[i, e] = probs0[e]
        for k in range(runs.spent.shape[1]):
            runs.weight[i, k] = 1.0
            runs.spent[i, k] = 0.0
            runs.left[i, k] = budget[k]


@kernel
def advance(
    m: ModelArrays,
    terminal: BoolArray,
    budget: FloatArray,
    limit: FloatArray,
    runs: Runs,
    these: IntArray,
    first: int,
    actions: IntArray,
    out: StepOutcome,
    acc: FloatArray,
    touched: IndexArray,
    next_states: IndexArray,
    next_probs: FloatArray,
) -> int:
    """Take ``actions[i]`` in these runs from the first on, as `simulate` does, to the last bit.

    Returns how many are done: fewer than there are if the next one's belief has no room.
    """
    for j in range(first, these.size):
        i = these[j]
        a, s = actions[i], runs.state[i]
        states, probs = runs.support[i, : runs.size[i]], runs.probs[i, : runs.size[i]]
        c_high, c_low = runs.block[i, 2], runs.block[i, 3]
        high, low = _jump(runs.bits[i, 0], runs.bits[i, 1], c_high, c_low, 1)
        u_state = _uniform(high, low)
        high, low = _jump(high, low, c_high, c_low, 1)
        u_observation = _uniform(high, low)
        s_next, o, size = step(m, s, a, u_state, u_observation, states, probs, acc, touched, next_states, next_probs)
        if size > runs.support.shape[1]:
            return j
        out.observation[i] = o
        out.reward[i] = m.reward[s, a]
        fill_expected_cost(m, a, states, probs, runs.paid)
        for k in range(out.cost.shape[1]):
            out.cost[i, k] = m.cost[k, s, a]
            runs.spent[i, k] += runs.weight[i, k] * runs.paid[k]
            runs.weight[i, k] *= m.cost_discount[k]
            runs.left[i, k] = _left(budget[k], limit[k], runs.spent[i, k], runs.weight[i, k])
        high, low = _jump(high, low, c_high, c_low, 2 * BLOCK_RUNS - 2)
        runs.bits[i, 0], runs.bits[i, 1] = high, low
        runs.state[i] = s_next
        runs.size[i] = size
        for e in range(size):
            runs.support[i, e] = next_states[e]
            runs.probs[i, e] = next_probs[e]
        out.ended[i] = terminal[s_next]
        out.known[i] = surely_ended(terminal, next_states[:size])
    return int(these.size)
