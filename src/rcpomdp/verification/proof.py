"""A proof of an upper bound: finite data, and one inequality for each line of it.

A *relaxation* j has the reward ``μ_j R − λ_j·C`` and lets an action spend only the least cost of its class, so that
what is left follows from the history and every value is convex in the belief. ``Q_a(b, d)`` is what is best after
action a.

- A *table* of a relaxation bounds ``Q_a`` at *corners*, for budgets of one cost up to each of a few levels. Corners
  are the states and, where the proof has them, all beliefs one step after a known state: ``b_sao(s') ∝ P(s', o | s,
  a)``. Then what follows a belief is a mixture of these, else of states.
- An *entry* bounds it at a point with a budget; a *point* is a belief. An entry of mode −1 is exact: an action spends
  ``C(b, a)``, and −inf says that no policy keeps the budget.
- A *cover* names points of which what follows a point, an action and an observation may be a mixture.

No number is to be trusted: `docs/theory.md` tells why the inequalities prove the bound, and `check_proof` tests them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import AnyArray, BoolArray, FloatArray, IntArray
from ..errors import ProofError
from ..model import CPOMDP

EXACT = -1  # mode of an entry in which an action spends C(b, a)
EVERY_HISTORY, EXPECTATION, NO_BUDGET = CRITERIA = ("every history", "expectation", "none")
_MOST_KEYS = 1 << 62
_LONGEST_COVER = 64  # points; room is made for the longest
_LARGEST = 1e100  # number, so that no product of two overflows
_ONE = 1e-9  # what the probabilities of a point may be off by in sum


class Proof(NamedTuple):
    """What an upper bound rests on, for a model of S states, A actions, O observations and K costs."""

    criterion: str  # where the budget is kept: "every history", "expectation" or "none"
    upper: float  # what is claimed; −inf: no policy keeps the budget
    objective: FloatArray  # [1 + K] μ and λ of what is bounded, μR − λ·C; (1, 0, ...) is the reward
    class_of: IntArray  # [S] states that may share a belief have one class
    weights: FloatArray  # [J, 1 + K] μ and λ of each relaxation
    table_cost: IntArray  # [J] the cost whose budget the table knows
    table_ptr: IntArray  # [J + 1] first level of each table
    table_level: FloatArray  # [T] increasing for each table, the last inf
    table: FloatArray  # [T, S + L, A]
    late_of: IntArray  # which of L beliefs each b_sao is, by a, s and o in turn where P(o | s, a) > 0; or empty, L = 0
    level_ptr: IntArray  # [K + 1]
    level: FloatArray  # budgets of each cost that entries may have, increasing, the last inf
    point_ptr: IntArray  # [N + 1]
    point_state: IntArray  # increasing for each point; point 0 is the initial belief
    point_prob: FloatArray
    entry_point: IntArray  # [E]
    entry_mode: IntArray  # [E] relaxation, or EXACT
    entry_level: IntArray  # [E, K] place of the budget of each cost among its levels
    entry_value: FloatArray  # [E, A]
    cover_point: IntArray  # [M] what follows this point,
    cover_action: IntArray  # [M] this action
    cover_observation: IntArray  # [M] and this observation
    cover_ptr: IntArray  # [M + 1]
    cover_target: IntArray  # is a mixture of these points and of states

    @property
    def n_bytes(self) -> int:
        """Size of its arrays."""
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))

    def check_form(self, model: CPOMDP) -> None:
        """Refuse what is no proof for this model, whatever its numbers: shapes, ranges and order."""
        s, a, o, k = model.n_states, model.n_actions, model.n_observations, model.n_costs
        n, e, j, m = len(self.point_ptr) - 1, len(self.entry_point), len(self.weights), len(self.cover_point)
        late = int(self.late_of.max(initial=-1)) + 1
        shapes = {
            **{"objective": (1 + k,), "class_of": (s,), "weights": (j, 1 + k), "table_cost": (j,)},
            **{"table_ptr": (j + 1,), "table": (len(self.table_level), s + late, a), "level_ptr": (k + 1,)},
            **{"entry_mode": (e,), "entry_level": (e, k), "entry_value": (e, a), "cover_ptr": (m + 1,)},
            **{"cover_action": (m,), "cover_observation": (m,), "point_prob": self.point_state.shape},
        }
        for name, shape in shapes.items():
            _demand(
                getattr(self, name).shape == shape, f"{name} has the shape {getattr(self, name).shape}, not {shape}"
            )
        _demand(self.criterion in CRITERIA, f"the criterion is {self.criterion!r}")
        _demand(self.upper < np.inf, "no bound is claimed")
        _demand(n > 0 and j > 0, "there is no point, or no relaxation")
        for name, largest in (
            *(("class_of", s), ("table_cost", max(k, 1)), ("point_state", s), ("entry_point", n)),
            *(
                ("late_of", len(self.late_of) + 1),
                ("cover_point", n),
                ("cover_action", a),
                ("cover_observation", o),
                ("cover_target", n),
            ),
        ):
            _demand(_within(getattr(self, name), 0, largest), f"{name} names what there is not")
        _demand(_within(self.entry_mode, EXACT, j), "entry_mode names what there is not")
        for name, of in (("table_ptr", "table_level"), ("level_ptr", "level"), ("point_ptr", "point_state")):
            _demand(_is_pointer(getattr(self, name), len(getattr(self, of)), 1), f"{name} is no pointer into {of}")
        _demand(_is_pointer(self.cover_ptr, len(self.cover_target), 0), "cover_ptr is no pointer into cover_target")
        _demand(int(np.diff(self.cover_ptr).max(initial=0)) <= _LONGEST_COVER, "a cover names too many points")
        for name, pointer in (("table_level", self.table_ptr), ("level", self.level_ptr)):
            value = getattr(self, name)
            last = pointer[1:] - 1
            _demand(bool((value >= 0).all() and (value[last] == np.inf).all()), f"{name} must end with inf")
            _demand(_increasing(value, pointer), f"{name} must increase")
        _demand(_increasing(self.point_state, self.point_ptr), "the states of a point must increase")
        counts = np.diff(self.level_ptr)
        _demand(bool((self.entry_level >= 0).all() and (self.entry_level < counts).all()), "there is no such level")
        _demand(int(np.prod([n, j + 1, *counts], dtype=object)) < _MOST_KEYS, "there are too many levels")
        finite = (self.objective, self.weights, self.table, self.point_prob)
        _demand(all(bool((np.abs(part) <= _LARGEST).all()) for part in finite), "some number is not finite, or huge")
        positive = self.criterion == NO_BUDGET or bool((self.weights[:, 1:] >= 0).all())
        _demand(bool((self.point_prob > 0).all()) and positive, "some weight is negative")
        total = np.add.reduceat(np.minimum(self.point_prob, 2.0), self.point_ptr[:-1])
        _demand(bool((np.abs(total - 1) <= _ONE).all()), "the probabilities of a point do not add up to 1")
        _demand(bool(np.isin(self.weights[:, 0], (0.0, 1.0, self.objective[0])).all()), "some weight is unknown")
        infinite = ~(np.abs(self.entry_value) <= _LARGEST)
        exact = (self.entry_mode == EXACT)[:, None]
        _demand(
            bool((self.entry_value[infinite] == -np.inf).all() and not (infinite & ~exact).any()), "a value is no value"
        )
        start = slice(0, int(self.point_ptr[1]))
        b = np.zeros(s)
        b[self.point_state[start]] = self.point_prob[start]
        _demand(np.array_equal(b, model.initial_belief), "point 0 is not the initial belief")


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ProofError(f"this is no proof for the model: {otherwise}")


def _within(values: IntArray, low: int, high: int) -> bool:
    return bool((values >= low).all() and (values < high).all())


def _is_pointer(pointer: IntArray, size: int, least: int) -> bool:
    ends: BoolArray = pointer[[0, -1]] == (0, size) if len(pointer) else np.array(False)
    return bool(ends.all() and (np.diff(pointer) >= least).all())


def _increasing(values: AnyArray, pointer: IntArray) -> bool:
    with np.errstate(invalid="ignore"):
        rises = np.diff(values) > 0
    rises[pointer[1:-1] - 1] = True  # where the next one begins
    return bool(rises.all())
