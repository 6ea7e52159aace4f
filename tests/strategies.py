"""Random constrained POMDPs for property tests.

`cpomdps()` is the hypothesis strategy; `random_model(rng, ...)` makes one model from a NumPy generator and
explicit knobs. Both return a `Dense`: the model, and the plain arrays it was built from, so that a test can
compare a sparse computation with three lines of NumPy. `lively_models()` are harder to solve than most of these.
`beliefs()` and `random_belief()` draw beliefs.

    @settings(derandomize=True, deadline=None, max_examples=50)
    @given(cpomdps(n_costs=1))
    def test_something(case):
        expected = np.einsum("ast,t->sa", case.T, value)
        ...

Rows are drawn so that they sum to 1 within 1e-12; the model then keeps them bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from rcpomdp.model import CPOMDP

DISCOUNTS = (0.0, 0.5, 0.95, 1 - np.exp(-14))  # the last is the one of an undiscounted model file


class Dense(NamedTuple):
    """A model and the dense arrays that it was built from."""

    model: CPOMDP
    T: np.ndarray  # [A, S, S] T[a, s, s']
    Z: np.ndarray  # [A, S, O] Z[a, s', o]
    R: np.ndarray  # [S, A]
    C: np.ndarray  # [K, S, A]


def random_model(
    rng: np.random.Generator,
    n_states: int = 4,
    n_actions: int = 2,
    n_observations: int = 3,
    n_costs: int = 1,
    *,
    density: float = 0.6,
    deterministic: float = 0.2,
    blind: float = 0.0,
    n_terminal: int = 0,
    n_free_actions: int = 0,
    cost_density: float = 0.7,
    discount: float = 0.95,
    support: int | None = None,
    budget: Any = None,
) -> Dense:
    """One random model.

    Parameters
    ----------
    density : chance of each entry of a row of T or Z to be positive (one of the row always is)
    deterministic : chance of a row of T or Z to put all its mass on one entry
    blind : chance of an action to give no information: all rows of its Z are then the same
    n_terminal : how many states absorb without reward or cost; which ones is drawn
    n_free_actions : how many actions cost nothing in any state; which ones is drawn
    cost_density : chance of each C[k, s, a] to be positive
    support : number of states in the initial belief's support; drawn unless given
    budget : as `CPOMDP` takes it; drawn unless given, and then sometimes 0 or unlimited

    >>> case = random_model(np.random.default_rng(0), n_states=3, n_terminal=1)
    >>> case.model
    CPOMDP: 3 states, 2 actions, 3 observations, 1 cost, discount 0.95, budget ...
    >>> int(case.model.terminal.sum())
    1
    """
    T = np.empty((n_actions, n_states, n_states))
    Z = np.empty((n_actions, n_states, n_observations))
    for a in range(n_actions):
        for s in range(n_states):
            T[a, s] = _row(rng, n_states, density, deterministic)
            Z[a, s] = _row(rng, n_observations, density, deterministic)
        if rng.random() < blind:
            Z[a] = Z[a, 0]
    # Whole numbers make ties and zeros likely; the others make them unlikely.
    R = rng.integers(-5, 6, (n_states, n_actions)) * rng.choice([1.0, 0.37], (n_states, n_actions))
    C = rng.choice([1.0, 2.0, 0.31], (n_costs, n_states, n_actions))
    C[rng.random(C.shape) >= cost_density] = 0.0
    C[:, :, rng.permutation(n_actions)[:n_free_actions]] = 0.0
    ended = rng.permutation(n_states)[:n_terminal]
    T[:, ended] = np.eye(n_states)[ended]
    R[ended] = 0.0
    C[:, ended] = 0.0
    if budget is None:
        horizon = min(1 / (1 - discount), 10.0)
        drawn = rng.uniform(0, 2 * horizon, n_costs)
        budget = np.where(rng.random(n_costs) < 0.7, drawn, rng.choice([0.0, np.inf], n_costs))
    model = CPOMDP(
        transition=T,
        observation=Z,
        reward=R,
        cost=C if n_costs else None,
        initial_belief=random_belief(rng, n_states, support),
        discount=discount,
        budget=budget,
    )
    return Dense(model, T, Z, R, C)


def random_belief(rng: np.random.Generator, n_states: int, support: int | None = None) -> np.ndarray:
    """A belief over `support` states (drawn unless given); which ones is drawn too.

    >>> belief = random_belief(np.random.default_rng(0), 5, support=2)
    >>> int((belief > 0).sum()), round(float(belief.sum()), 12)
    (2, 1.0)
    """
    size = int(rng.integers(1, n_states + 1)) if support is None else support
    belief = np.zeros(n_states)
    belief[rng.permutation(n_states)[:size]] = _simplex(rng, size)
    return belief


def _row(rng: np.random.Generator, width: int, density: float, deterministic: float) -> np.ndarray:
    row = np.zeros(width)
    positive = np.flatnonzero(rng.random(width) < density)
    if rng.random() < deterministic or not positive.size:
        positive = rng.integers(0, width, 1)
    row[positive] = _simplex(rng, positive.size)
    return row


def _simplex(rng: np.random.Generator, size: int) -> np.ndarray:
    """Positive numbers that sum to 1; now and then all equal, for ties."""
    weights = np.ones(size) if rng.random() < 0.2 else rng.exponential(size=size) + 1e-3
    return weights / weights.sum()


@st.composite
def cpomdps(
    draw: DrawFn,
    max_states: int = 6,
    max_actions: int = 3,
    max_observations: int = 4,
    n_costs: int | None = None,
    *,
    min_states: int = 1,
    discounts: Sequence[float] = DISCOUNTS,
    terminal: bool = True,
    budget: Any = None,
) -> Dense:
    """Random valid models, from dense to deterministic, with or without terminal states and free actions.

    Parameters
    ----------
    n_costs : 0, 1 or 2 of them are drawn unless given
    discounts : those to draw from
    terminal : whether states may be terminal by construction (one may still turn out so by chance)
    budget : as `CPOMDP` takes it; drawn unless given
    """
    n_states = draw(st.integers(min_states, max_states), label="states")
    n_actions = draw(st.integers(1, max_actions), label="actions")
    return random_model(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed")),
        n_states,
        n_actions,
        draw(st.integers(1, max_observations), label="observations"),
        draw(st.integers(0, 2), label="costs") if n_costs is None else n_costs,
        density=draw(st.sampled_from((1.0, 0.6, 0.3)), label="density"),
        deterministic=draw(st.sampled_from((0.0, 0.3, 1.0)), label="deterministic"),
        blind=draw(st.sampled_from((0.0, 0.5)), label="blind"),
        n_terminal=draw(st.integers(0, n_states), label="terminal states") if terminal else 0,
        n_free_actions=draw(st.integers(0, n_actions), label="free actions"),
        cost_density=draw(st.sampled_from((0.7, 1.0, 0.0)), label="cost density"),
        discount=draw(st.sampled_from(discounts), label="discount"),
        support=draw(st.integers(1, n_states), label="support"),
        budget=budget,
    )


def mapped_model(
    rng: np.random.Generator,
    n_places: int = 3,
    n_hidden: int = 2,
    n_actions: int = 2,
    n_hints: int = 2,
    n_costs: int = 1,
    *,
    discount: float = 0.95,
) -> Dense:
    """A place that is seen and something hidden of which hints are heard: an observability class per place.

    >>> case = mapped_model(np.random.default_rng(0))
    >>> case.model
    CPOMDP: 6 states, 2 actions, 6 observations, 1 cost, discount 0.95, budget inf
    """
    T = np.empty((n_actions, n_places * n_hidden, n_places * n_hidden))
    Z = np.zeros((n_actions, n_places * n_hidden, n_places * n_hints))
    for a in range(n_actions):
        moves = np.array([_row(rng, n_places, 0.6, 0.5) for _ in range(n_places)])
        stays = np.eye(n_hidden) if rng.random() < 0.5 else [_row(rng, n_hidden, 1.0, 0.0) for _ in range(n_hidden)]
        T[a] = np.kron(moves, stays)
        for s in range(n_places * n_hidden):
            place = s // n_hidden * n_hints
            Z[a, s, place : place + n_hints] = _row(rng, n_hints, 0.9, 0.1)
    R = rng.integers(-5, 6, (n_places * n_hidden, n_actions)) * 1.0
    C = rng.choice([0.0, 1.0, 0.31], (n_costs, n_places * n_hidden, n_actions))
    model = CPOMDP(
        transition=T,
        observation=Z,
        reward=R,
        cost=C if n_costs else None,
        initial_belief=np.concatenate([_simplex(rng, n_hidden), np.zeros((n_places - 1) * n_hidden)]),
        discount=discount,
    )
    return Dense(model, T, Z, R, C)


def lively_models(discounts: Sequence[float] = (0.5, 0.95), n_costs: int | None = None) -> SearchStrategy[Dense]:
    """Small models that neither one action for ever nor a known state solves, some with places that are seen."""

    def make(seed: int) -> Dense:
        rng = np.random.default_rng(seed)
        while True:
            n, m, o = int(rng.integers(2, 5)), int(rng.integers(2, 4)), int(rng.integers(2, 4))
            k = int(rng.integers(0, 3)) if n_costs is None else n_costs
            discount = float(rng.choice(np.array(discounts)))
            if rng.random() < 0.25:
                case = mapped_model(rng, n_places=int(rng.integers(2, 4)), n_actions=m, n_costs=k, discount=discount)
            else:
                knobs = {"density": rng.choice([1.0, 0.6]), "deterministic": rng.choice([0.0, 0.2])}
                n_terminal = int(rng.random() < 0.25)
                case = random_model(rng, n, m, o, k, **knobs, n_terminal=n_terminal, support=n, discount=discount)
            # What the best action differs by from state to state is what an observation may be worth.
            if (case.R.max(axis=1) - case.R[:, (case.model.initial_belief @ case.R).argmax()]).max() >= 2:
                return case

    return st.integers(0, 2**32 - 1).map(make)


@st.composite
def beliefs(draw: DrawFn, n_states: int) -> np.ndarray:
    """Random beliefs of any support over `n_states` states."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    return random_belief(rng, n_states, draw(st.integers(1, n_states), label="support"))


def rngs() -> SearchStrategy[np.random.Generator]:
    """NumPy generators, for whatever else a test draws."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)
