"""Simulated runs, many at a call, of a policy that is given as arrays (a program)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import BoolArray, FloatArray, IndexArray, IntArray
from .. import belief as _belief
from ..arrays import ModelArrays
from ..jit import inner, kernel
from . import plan_set as _plan_set
from .plan_set import PlanArrays, PlanScratch

ALPHA, CONTROLLER, RANDOM, PLAN_SET = 0, 1, 2, 3
BLOCK_RUNS = 256  # runs that draw from one generator
NEVER = -1
ENDED = -1  # in place of a state after the end of a run

_expectation = _belief.expectation
_update = _belief.update
_follow = _plan_set.follow
_spend = _plan_set.spend
_is_guide = _plan_set.is_guide
_plan_scratch = _plan_set.plan_scratch


class Program(NamedTuple):
    """A policy as arrays; ``memory`` is an integer that a run carries along.

    ALPHA: act by the best vector at the belief. CONTROLLER: memory is the node. RANDOM: memory is the state
    of a generator of uniform actions. PLAN_SET: memory is the node, and what is left of the budget is tracked.
    """

    kind: int
    action: IntArray  # [n] action of a vector or node
    successor: IntArray  # [n, O] next node (CONTROLLER, PLAN_SET)
    values: FloatArray  # vectors laid state by state: those of state s at start[s]:start[s] + size[s] (ALPHA)
    start: IntArray  # [S]
    size: IntArray  # [S]
    first: IntArray  # [S] number of the vector that comes first at state s
    plans: PlanArrays  # (PLAN_SET)


class Outcome(NamedTuple):
    """Outcome of each run."""

    reward: FloatArray  # [runs] discounted sum of R(s_t, a_t)
    cost: FloatArray  # [runs, K] discounted sum of C_k(s_t, a_t), as it fell out
    undiscounted: FloatArray  # [runs, K] the same without discount
    spent: FloatArray  # [runs, K] W(h): discounted sum of C_k(b_t, a_t), as the agent expected it
    violation: IntArray  # [runs] step after which W(h_t) first exceeds the budget, or that costs too much, or NEVER
    length: IntArray  # [runs] steps until the process ended, or all of them
    ended: BoolArray  # [runs] whether it ended
    path: IntArray  # [runs, steps + 1] state before the first step and after each, then ENDED; [runs, 0]: not kept


@kernel
def best_vector(p: Program, states: IndexArray, probs: FloatArray, score: FloatArray) -> int:
    """Number of the vector with the largest ``α·b``, the first of equals; ``score`` is scratch."""
    n = p.size[states[0]]
    for j in range(n):
        score[j] = 0.0
    for i in range(states.size):
        row = p.values[p.start[states[i]] : p.start[states[i]] + n]
        for j in range(n):
            score[j] += probs[i] * row[j]
    best = 0
    for j in range(1, n):
        if score[j] > score[best]:
            best = j
    return int(p.first[states[0]] + best)


@kernel
def random_action(memory: int, n_actions: int) -> int:
    """A uniform action from 63 bits of a mixed counter (SplitMix64's finaliser)."""
    x = np.uint64(memory)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return int(np.int64(x >> np.uint64(1)) % n_actions)


@kernel
def choice(p: Program, memory: int, states: IndexArray, probs: FloatArray, n_actions: int, score: FloatArray) -> int:
    """The action to take; ``score`` is scratch."""
    if p.kind == RANDOM:
        return random_action(memory, n_actions)
    if p.kind == ALPHA:
        return int(p.action[best_vector(p, states, probs, score)])
    return int(p.action[memory])


@kernel
def next_memory(p: Program, memory: int, o: int) -> int:
    """The memory after an observation; that of a plan set before it looks for a better plan."""
    if p.kind == ALPHA:
        return memory
    if p.kind == RANDOM:
        return memory + 0x1E3779B97F4A7C15  # an odd step: the counter wraps around only after 2^64
    return int(p.successor[memory, o])


@kernel
def draw(first: int, last: int, probs: FloatArray, u: float) -> int:
    """Index in ``first:last`` drawn by its probability, by inversion of the uniform u."""
    for e in range(first, last):
        u -= probs[e]
        if u < 0.0:
            return e
    return last - 1  # the probabilities sum to a little less than 1


@inner
def step(
    m: ModelArrays,
    s: int,
    a: int,
    u_state: float,
    u_observation: float,
    states: IndexArray,
    probs: FloatArray,
    acc: FloatArray,
    touched: IndexArray,
    next_states: IndexArray,
    next_probs: FloatArray,
) -> tuple[int, int, int]:
    """Draw s' and o, and write the belief after them; return s', o and the size of that belief."""
    n_states = m.reward.shape[0]
    row = a * n_states + s
    s_next = m.t_next[draw(m.t_ptr[row], m.t_ptr[row + 1], m.t_prob, u_state)]
    row = a * n_states + s_next
    o = int(m.z_obs[draw(m.z_ptr[row], m.z_ptr[row + 1], m.z_prob, u_observation)])
    size, _ = _update(m, states, probs, a, o, acc, touched, next_states, next_probs)
    return int(s_next), o, size


@inner
def fill_expected_cost(m: ModelArrays, a: int, states: IndexArray, probs: FloatArray, paid: FloatArray) -> None:
    """Write C(b, a) into ``paid [K]``.

    What is spent, ``W' = W + β^t C(b, a)``, is kept in the root's units: there rounding does not grow.
    """
    for k in range(paid.size):
        paid[k] = _expectation(m.cost[k], a, states, probs)


@kernel
def single_step(
    m: ModelArrays,
    s: int,
    a: int,
    u_state: float,
    u_observation: float,
    states: IndexArray,
    probs: FloatArray,
    acc: FloatArray,
    touched: IndexArray,
    next_states: IndexArray,
    next_probs: FloatArray,
    paid: FloatArray,
) -> tuple[int, int, int]:
    """`step` for Python, which cannot call inner functions; C(b, a) is written to ``paid [K]``."""
    fill_expected_cost(m, a, states, probs, paid)
    return step(m, s, a, u_state, u_observation, states, probs, acc, touched, next_states, next_probs)


@kernel
def surely_ended(terminal: BoolArray, states: IndexArray) -> bool:
    """True if a belief holds terminal states alone."""
    for i in range(states.size):  # noqa: SIM110 - compiled code has no all()
        if not terminal[states[i]]:
            return False
    return True


@inner
def _keep(path: IntArray, run: int, t: int, s: int) -> None:
    """Note the state after t steps, where paths are kept."""
    if path.shape[1] > 0:
        path[run, t] = s


@inner
def _mark(met: BoolArray, node: int) -> None:
    """Note that a run acts from a node, where that is kept."""
    if met.size > 0:
        met[node] = True


@inner
def _node_after(
    m: ModelArrays,
    p: Program,
    memory: int,
    o: int,
    left: FloatArray,
    states: IndexArray,
    probs: FloatArray,
    scratch: PlanScratch,
) -> int:
    """The memory after an observation, at the belief that it led to; below 0 if a plan set has nothing to follow."""
    after = next_memory(p, memory, o)
    if p.kind != PLAN_SET or (after < 0 and not _is_guide(p.plans, memory)):
        return after
    return int(_follow(m, p.plans, p.action, after, left, states, probs, scratch))


@kernel
def run_batch(
    m: ModelArrays,
    discount: float,
    limit: FloatArray,
    terminal: BoolArray,
    states0: IndexArray,
    probs0: FloatArray,
    program: Program,
    memory: IntArray,
    runs: IntArray,
    u_start: FloatArray,
    u: FloatArray,
    out: Outcome,
    met: BoolArray,
) -> int:
    """Run ``runs`` of the program from b_0; return NEVER, or a run whose node has no successor.

    ``u_start [runs]`` and ``u [steps, runs, 2]`` are the uniforms of each run; ``limit [K]`` is the budget
    with its tolerance. A run goes on until the *belief* is sure that the process has ended: as long as the
    agent does not know, it acts and its remaining budget shrinks. The nodes that a plan set acts from are marked in
    ``met [n]``, unless that is empty.
    """
    n_states, n_actions = m.reward.shape
    n_costs = m.cost.shape[0]
    acc = np.zeros(n_states)
    touched = np.empty(n_states, dtype=np.int32)
    states_a, states_b = np.empty(n_states, dtype=np.int32), np.empty(n_states, dtype=np.int32)
    probs_a, probs_b = np.empty(n_states), np.empty(n_states)
    planned = program.kind == PLAN_SET
    left = np.empty(n_costs if planned else 0)
    paid, cost_weight = np.empty(n_costs), np.empty(n_costs)  # C(b, a) and β^t
    score = np.empty(program.size.max() if program.kind == ALPHA else 0)
    scratch = _plan_scratch(
        program.action.size if planned else 0, n_states, n_actions, program.successor.shape[1], left.size
    )
    for i in range(runs.size):
        run = runs[i]
        node = memory[i]
        for k in range(left.size):
            left[k] = program.plans.budget[k]
        s = int(states0[draw(0, states0.size, probs0, u_start[run])])
        size = states0.size
        for j in range(size):
            states_a[j] = states0[j]
            probs_a[j] = probs0[j]
        _keep(out.path, run, 0, s)
        weight = 1.0  # γ^t
        for k in range(n_costs):
            cost_weight[k] = 1.0
        for t in range(u.shape[0]):
            states, probs = states_a[:size], probs_a[:size]
            if surely_ended(terminal, states):
                break
            a = choice(program, node, states, probs, n_actions, score)
            _mark(met, node)
            if not terminal[s]:
                out.length[run] = t + 1
            out.reward[run] += weight * m.reward[s, a]
            fill_expected_cost(m, a, states, probs, paid)
            for k in range(n_costs):
                out.spent[run, k] += cost_weight[k] * paid[k]
                out.cost[run, k] += cost_weight[k] * m.cost[k, s, a]
                out.undiscounted[run, k] += m.cost[k, s, a]
                if (out.spent[run, k] > limit[k] or paid[k] > m.step_limit[k]) and out.violation[run] == NEVER:
                    out.violation[run] = t
                cost_weight[k] *= m.cost_discount[k]
            s, o, size = step(m, s, a, u[t, run, 0], u[t, run, 1], states, probs, acc, touched, states_b, probs_b)
            _keep(out.path, run, t + 1, s)
            if planned:
                _spend(m, a, states, probs, left, left)
            states_a, states_b = states_b, states_a
            probs_a, probs_b = probs_b, probs_a
            node = _node_after(m, program, node, o, left, states_a[:size], probs_a[:size], scratch)
            if planned and node < 0:
                return int(run)
            weight *= discount
        out.ended[run] = terminal[s]
    return NEVER
