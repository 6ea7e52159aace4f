"""The constrained POMDP: a frozen, validated model with sparse arrays inside.

``M = (S, A, O, T, R, Z, γ, b_0, C, ĉ)``: states, actions, observations, transitions ``T(s, a, s')``, reward
``R(s, a)``, observations ``Z(s', a, o)``, discount, initial belief, n ≥ 0 costs ``C_k(s, a) ≥ 0`` and a
budget for each (paper, Def. 1 and 2). Without costs it is a plain POMDP.

Beyond the paper a cost may have a discount β of its own, ``γ ≤ β ≤ 1``, and a limit for each single step, and the
process may be over after so many steps (`model.horizon`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp

from .. import tolerance
from .._types import BoolArray, FloatArray
from ..errors import ModelError
from ..kernels.arrays import ModelArrays
from ..views import notebook
from . import validation as check
from .labels import Labels


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CPOMDP:
    """A constrained POMDP.

    Parameters
    ----------
    transition : T[a, s, s'], a dense array or a list with one (sparse or dense) matrix per action
    observation : Z[a, s', o], likewise
    reward : R[s, a]; also R[s, a, s'] or R[s, a, s', o], which is reduced to its expectation
    cost : C[s, a] for one cost or C[k, s, a] for several; also C[k, s, a, s'] and C[k, s, a, s', o]
    initial_belief : b_0[s], or a mapping from state labels to probabilities
    discount : γ in [0, 1]; 1 needs a horizon, or a process that surely ends, to be solved
    budget : a number for one cost, one per cost, or ``{cost: number}``; None is unlimited
    cost_discount : β of each cost, likewise, with ``γ ≤ β ≤ 1``: what is spent is ``Σ_t β^t C(b_t, a_t)``. With 1 a
        budget is a battery, a number of tests, a risk; None is γ
    step_limit : the most that a single step may cost, ``C(b_t, a_t)``, likewise; None is unlimited
    horizon : steps after which the process is over; the time is then part of the state (`with_horizon`)
    states, actions, observations, costs : labels; "s0", "a0", "o0", "cost0" and so on unless given
    terminal : labels of states, or a mask over them, that must absorb without reward or cost; those that do
        are found in any case
    name : what the model calls itself

    Examples
    --------
    >>> model = CPOMDP(
    ...     transition=[[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]],
    ...     observation=[[[0.85, 0.15], [0.15, 0.85]], [[0.5, 0.5], [0.5, 0.5]]],
    ...     reward=[[-1, 10], [-1, -100]],
    ...     cost=[[1, 0], [1, 0]],
    ...     initial_belief=[0.5, 0.5], discount=0.75, budget=3, actions=["listen", "open"],
    ... )
    >>> model
    CPOMDP: 2 states, 2 actions, 2 observations, 1 cost, discount 0.75, budget 3
    >>> model.with_budget(1.5).budget
    array([1.5])
    """

    arrays: ModelArrays  # the flat form that kernels read
    initial_belief: FloatArray  # [S]
    discount: float
    budget: FloatArray  # [K]; inf is unlimited
    step_limit: FloatArray  # [K] the most that a step may cost; inf is unlimited
    terminal: BoolArray  # [S] absorbing, without reward or cost
    states: Labels
    actions: Labels
    observations: Labels
    costs: Labels
    name: str
    horizon: int | None  # steps after which the process is over
    base: CPOMDP | None  # of a model with a horizon, the process without the time
    source: Mapping[str, Any] | None  # the problem or file it was made from: {"name": ..., "parameters": {...}}

    def __init__(
        self,
        *,
        transition: Any,
        observation: Any,
        reward: Any,
        initial_belief: Any,
        discount: float,
        cost: Any = None,
        budget: Any = None,
        cost_discount: Any = None,
        step_limit: Any = None,
        horizon: int | None = None,
        states: Iterable[Hashable] | None = None,
        actions: Iterable[Hashable] | None = None,
        observations: Iterable[Hashable] | None = None,
        costs: Iterable[Hashable] | None = None,
        terminal: Iterable[Hashable] | BoolArray | None = None,
        name: str = "",
    ) -> None:
        t = check.split_by_action(transition, "transition")
        z = check.split_by_action(observation, "observation")
        n, o = t[0].shape[0], z[0].shape[1]
        if n == 0 or o == 0:
            raise ModelError(f"the model has {n} states and {o} observations; each needs at least one")
        check.check_shapes(t, (n, n), "transition")
        check.check_shapes(z, (n, o), "observation")
        if len(z) != len(t):
            raise ModelError(f"observation has {len(z)} actions, but transition has {len(t)}")
        state_labels = _labels(states, n, "state", "s")
        action_labels = _labels(actions, len(t), "action", "a")
        observation_labels = _labels(observations, o, "observation", "o")
        t_rows = check.stochastic_rows(t, "transition", state_labels, action_labels, state_labels)
        z_rows = check.stochastic_rows(z, "observation", state_labels, action_labels, observation_labels)
        check.check_products(t_rows, z_rows)

        def expectation(values: FloatArray, what: str) -> FloatArray:
            return check.expectation(values, what, t_rows, z_rows, state_labels, action_labels, o)

        given_costs = check.cost_list(cost)
        cost_labels = _cost_labels(costs, len(given_costs))
        cost_array = np.empty((len(given_costs), n, len(t)))
        for k, c in enumerate(given_costs):
            cost_array[k] = expectation(c, str(cost_labels[k]))
            check.check_not_negative(c, str(cost_labels[k]), state_labels, action_labels)
        reward_array = expectation(check.real_array(reward, "reward"), "reward")

        gamma = check.check_discount(discount)
        beta = check.cost_discounts(cost_discount, cost_labels, gamma)
        limit = check.step_limits(step_limit, cost_labels)
        arrays = ModelArrays(*t_rows, *z_rows, reward_array, cost_array, beta, tolerance.spending_limit(limit), o)
        if isinstance(initial_belief, Mapping):
            initial_belief = check.belief_vector(initial_belief, state_labels)
        self._set(
            arrays=arrays,
            initial_belief=check.distribution(initial_belief, n, "initial belief", state_labels),
            discount=gamma,
            budget=check.budget_vector(budget, cost_labels),
            step_limit=limit,
            terminal=_absorbing_for_nothing(arrays),
            states=state_labels,
            actions=action_labels,
            observations=observation_labels,
            costs=cost_labels,
            name=str(name),
            horizon=None,
            base=None,
            source=None,
        )
        if terminal is not None:
            self._check_terminal(terminal)
        if horizon is not None:
            self._set(**self._changed().with_horizon(horizon).__getstate__())

    @classmethod
    def from_functions(
        cls,
        states: Iterable[Hashable],
        actions: Iterable[Hashable],
        observations: Iterable[Hashable],
        transition: Callable[..., Mapping[Any, float]],
        observation: Callable[..., Mapping[Any, float]],
        reward: Callable[..., float],
        cost: Callable[..., Any] | Sequence[Callable[..., float]] | None = None,
        initial: Mapping[Any, float] | None = None,
        discount: float = 0.95,
        budget: Any = None,
        *,
        cost_discount: Any = None,
        step_limit: Any = None,
        horizon: int | None = None,
        terminal: Iterable[Hashable] | Callable[[Any], bool] = (),
        costs: Iterable[Hashable] | None = None,
        name: str = "",
    ) -> Self:
        """A model from functions over labels, as people write models by hand.

        Parameters
        ----------
        transition : ``(s, a) -> {s': probability}``
        observation : ``(a, s') -> {o: probability}``
        reward : a function of ``(s, a)``, ``(s, a, s')`` or ``(s, a, s', o)``; the model keeps the mean over what may
            follow, ``R(s, a)``, which is what simulated runs earn in a step
        cost : likewise; several costs are a list of functions, or one function that returns a sequence
        initial : ``{s: probability}``; uniform over the states that are not terminal unless given
        terminal : states where the process has ended, or a predicate: ``transition``, ``reward`` and ``cost``
            are not called there, and ``observation`` may return None

        Examples
        --------
        >>> model = CPOMDP.from_functions(
        ...     states=["rocky", "clear", "out"], actions=["drive", "wait"], observations=["none"],
        ...     transition=lambda s, a: {"out": 1.0} if a == "drive" else {s: 1.0},
        ...     observation=lambda a, s: {"none": 1.0},
        ...     reward=lambda s, a: 12.0 if a == "drive" else 0.0,
        ...     cost=lambda s, a: 10.0 if (s, a) == ("rocky", "drive") else 0.0,
        ...     initial={"rocky": 0.5, "clear": 0.5}, discount=0.9, budget=5, terminal=["out"],
        ... )
        >>> model.reward.tolist()
        [[12.0, 0.0], [12.0, 0.0], [0.0, 0.0]]
        """
        from .functions import tabulate

        parts = tabulate(states, actions, observations, transition, observation, reward, cost, initial, terminal)
        return cls(
            **parts,
            discount=discount,
            budget=budget,
            cost_discount=cost_discount,
            step_limit=step_limit,
            horizon=horizon,
            costs=costs,
            name=name,
        )

    # Sizes and views

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return len(self.actions)

    @property
    def n_observations(self) -> int:
        """Number of observations."""
        return len(self.observations)

    @property
    def n_costs(self) -> int:
        """Number of costs."""
        return len(self.costs)

    @property
    def reward(self) -> FloatArray:
        """R[s, a]."""
        return self.arrays.reward

    @property
    def cost(self) -> FloatArray:
        """C[k, s, a]."""
        return self.arrays.cost

    @property
    def cost_discount(self) -> FloatArray:
        """β[k]: what is spent is ``Σ_t β^t C(b_t, a_t)``."""
        return self.arrays.cost_discount

    @cached_property
    def transition(self) -> tuple[sp.csr_array[np.float64], ...]:
        """T[a][s, s'], one CSR matrix per action; the entries are shared with `arrays`."""
        m = self.arrays
        return check.matrices((m.t_ptr, m.t_next, m.t_prob), (self.n_states, self.n_states))

    @cached_property
    def observation(self) -> tuple[sp.csr_array[np.float64], ...]:
        """Z[a][s', o], one CSR matrix per action; the entries are shared with `arrays`."""
        m = self.arrays
        return check.matrices((m.z_ptr, m.z_obs, m.z_prob), (self.n_states, self.n_observations))

    @cached_property
    def spending_limit(self) -> FloatArray:
        """The most that may be spent, [K]: the budget and a tolerance for rounding, ``ĉ (1 + 1e-9)``."""
        limit = tolerance.spending_limit(self.budget)
        limit.setflags(write=False)
        return limit

    @cached_property
    def most_steps(self) -> float:
        """Steps after which the process is over, whatever is done; inf if it may go on for ever."""
        from .endings import most_steps

        return most_steps(self) if self.horizon is None else float(self.horizon)

    @cached_property
    def fade(self) -> float:
        """One over the most that rewards of at most 1 add up to: ``1 − γ``, or ``1/N`` if γ = 1 and N steps end it."""
        if self.discount < 1:
            return 1 - self.discount
        from .endings import most_steps

        steps = self.most_steps if self.horizon is not None else most_steps(self, from_anywhere=True)
        if np.isinf(steps):
            raise ModelError(
                "discount 1 needs a horizon, since the process may go on for ever: .with_horizon(steps) or --horizon"
            )
        return 1 / max(steps, 1)

    @cached_property
    def cost_fade(self) -> FloatArray:
        """The same for each cost, [K]: ``1 − β``, or if β = 1 ``1/N``; 0 where a cost may add up for ever."""
        fade = 1 - self.cost_discount
        return np.where(fade > 0, fade, 1 / max(self.most_steps, 1)) if (fade == 0).any() else fade

    @cached_property
    def most_spent(self) -> FloatArray:
        """What no policy can exceed of each cost, [K]: the largest cost of a step, at every step."""
        from .endings import adding_up

        return adding_up(self.cost.max(axis=(1, 2), initial=0.0), self.cost_fade)

    @property
    def has_step_limits(self) -> bool:
        """True if some cost is limited step by step."""
        return bool(np.isfinite(self.step_limit).any())

    def steps_until(self, share: float) -> float:
        """Steps after which no more than a share of what rewards may add up to is left: ``log(share) / log(γ)``."""
        if self.discount == 1:
            return self.most_steps
        return 1.0 if self.discount == 0 else float(np.log(share) / np.log(self.discount))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all numbers of the model but the budget; labels and name do not count either."""
        digest = hashlib.sha256()
        m = self.arrays
        parts = [*m[: m._fields.index("cost_discount")], self.initial_belief, np.float64(self.discount)]
        if (m.cost_discount != self.discount).any() or np.isfinite(m.step_limit).any():
            parts += [m.cost_discount, m.step_limit]
        for part in parts:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.data)
        digest.update(str(self.n_observations).encode())
        return digest.hexdigest()

    # Relatives

    def with_budget(self, budget: Any) -> CPOMDP:
        """The same model under another budget: one per cost, or some by name, and the others stay; None is unlimited.

        >>> import rcpomdp as rc
        >>> rc.problems.make("delivery").with_budget({"battery": 5}).budget
        array([5.  , 0.75])
        """
        if isinstance(budget, Mapping):
            budget = dict(zip(self.costs, self.budget.tolist(), strict=True)) | dict(budget)
        return self._changed(budget=check.budget_vector(budget, self.costs))

    def with_initial_belief(self, belief: Any) -> CPOMDP:
        """The same model from another initial belief, given as a vector or as ``{label: probability}``.

        One over the states of a process with a horizon is a belief at its start; one over pairs (state, steps taken)
        may be at any time.
        """
        if self.base is not None and self.horizon is not None:
            if isinstance(belief, Mapping) and all(label in self.base.states for label in belief):
                return self.without_time().with_initial_belief(belief).with_horizon(self.horizon)
            if not isinstance(belief, Mapping) and np.shape(belief) == (self.base.n_states,):
                return self.without_time().with_initial_belief(belief).with_horizon(self.horizon)
        if isinstance(belief, Mapping):
            belief = check.belief_vector(belief, self.states)
        vector = check.distribution(belief, self.n_states, "initial belief", self.states)
        return self._changed(initial_belief=vector)

    def with_cost_discount(self, cost_discount: Any) -> CPOMDP:
        """The same model with other discounts of its costs; None is γ.

        >>> import rcpomdp as rc
        >>> rc.problems.make("tiger").with_cost_discount(1).cost_discount
        array([1.])
        """
        beta = check.cost_discounts(cost_discount, self.costs, self.discount)
        return self._with_terms(arrays=self.arrays._replace(cost_discount=beta))

    def with_step_limit(self, step_limit: Any) -> CPOMDP:
        """The same model with other limits of single steps; None is unlimited."""
        limit = check.step_limits(step_limit, self.costs)
        arrays = self.arrays._replace(step_limit=tolerance.spending_limit(limit))
        return self._with_terms(arrays=arrays, step_limit=limit)

    def with_horizon(self, horizon: int) -> CPOMDP:
        """The same process, over after so many steps in place of any that it had; its states are (state, steps taken).

        The time is known, as it follows from the history, so that policies need no clock but what they observe.

        >>> import rcpomdp as rc
        >>> short = rc.problems.make("tiger").with_horizon(3)
        >>> short.horizon, short.n_states, short.base.n_states
        (3, 7, 2)
        """
        from .horizon import over_horizon

        return over_horizon(self.without_time(), check.check_horizon(horizon))

    def without_time(self) -> CPOMDP:
        """The process that never ends by itself, under the same budget; a model without a horizon is that already."""
        if self.base is None:
            return self
        belief = np.zeros(self.base.n_states)
        for i in np.flatnonzero(self.initial_belief).tolist():
            label, time = cast("tuple[Hashable, int]", self.states[i])
            if time > 0:
                raise ModelError("the initial belief is of a later time: give the horizon to the model without one")
            belief[self.base.states.index(label)] = self.initial_belief[i]
        return self.base._changed(budget=self.budget, initial_belief=belief, name=self.name)

    def with_risk(
        self,
        failures: Iterable[Hashable] | BoolArray | Callable[[Any], bool],
        budget: float | None = None,
        name: Hashable = "risk",
        *,
        step_limit: float | None = None,
    ) -> CPOMDP:
        """The same model with one more cost, the probability of failing, which is not discounted (`risk_cost`).

        Parameters
        ----------
        failures : labels of states, a mask over them, or a predicate of labels; no action may lead out of them
        budget : the most risk that may be taken along a history, which bounds the probability of ever failing; None
            is unlimited
        name : label of the cost
        step_limit : the most risk that a single step may take; None is unlimited
        """
        from .risk import with_risk

        return with_risk(self, failures, budget, name, step_limit)

    def with_costs(
        self,
        costs: Mapping[Any, Any] | Iterable[str] | str,
        budget: Any = None,
        *,
        cost_discount: Any = None,
        step_limit: Any = None,
    ) -> CPOMDP:
        """The same model with further costs, after its own.

        Parameters
        ----------
        costs : ``{name: function}``, of ``(s, a)``, ``(s, a, s')`` or ``(s, a, s', o)``, which is not called where the
            process has ended; or ``{name: array}``, C[s, a] or as the model takes it; or lines of text of the form
            ``"NAME: ACTION : STATE VALUE"``, where ``*`` stands for all
        budget, cost_discount, step_limit : of these costs, as the model takes them

        >>> import rcpomdp as rc
        >>> model = rc.problems.make("tiger")
        >>> model.with_costs({"doors": lambda s, a: a != "listen"}, budget=2)
        CPOMDP 'tiger': 2 states, 3 actions, 2 observations, 2 costs, discount 0.75, budget 3, 2
        >>> model.with_costs("doors: open-left : * 1").cost[1].tolist()
        [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
        """
        from .added_costs import with_costs

        return with_costs(self, costs, budget, cost_discount, step_limit)

    def from_source(self, name: str, parameters: Mapping[str, Any]) -> CPOMDP:
        """The same model, which remembers the problem or file that it was made from."""
        return self._changed(source={"name": name, "parameters": dict(parameters)})

    @property
    def title(self) -> str:
        """Its name, or else that of its file; empty if it has neither."""
        return self.name or ("" if self.source is None else Path(self.source["name"]).stem)

    def scalarised(self, weights: Any) -> CPOMDP:
        """The plain POMDP with reward ``R − Σ_k λ_k C_k``; its optimum V_λ bounds the constrained one."""
        lam = check.real_array(weights, "weight vector").reshape(-1)
        if lam.shape != (self.n_costs,):
            raise ModelError(f"weights have length {len(lam)}, but the model has {check.count(self.n_costs, 'cost')}")
        if not np.isfinite(lam).all():
            raise ModelError(f"weight {int(np.argmin(np.isfinite(lam)))} is not a finite number")
        reward = self.reward - np.tensordot(lam, self.cost, axes=1)
        none = np.empty(0)
        arrays = self.arrays._replace(reward=reward, cost=self.cost[:0], cost_discount=none, step_limit=none)
        return self._changed(
            arrays=arrays,
            budget=none,
            step_limit=none,
            costs=Labels((), "cost"),
            terminal=self.terminal | _absorbing_for_nothing(arrays),  # with the time, what is over moves on with it
            base=None if self.base is None else self.base.scalarised(lam),
        )

    def __repr__(self) -> str:
        budget = ", ".join(f"{c:.12g}" for c in self.budget)
        parts = [
            check.count(self.n_states, "state"),
            check.count(self.n_actions, "action"),
            check.count(self.n_observations, "observation"),
            check.count(self.n_costs, "cost"),
            f"discount {self.discount:.12g}",
        ]
        if self.n_costs:
            parts.append(f"budget {budget}")
        if (self.cost_discount != self.discount).any():
            parts.append(f"cost discount {', '.join(f'{beta:.12g}' for beta in self.cost_discount)}")
        if np.isfinite(self.step_limit).any():
            parts.append(f"step limit {', '.join(f'{limit:.12g}' for limit in self.step_limit)}")
        if self.horizon is not None:
            parts.append(f"horizon {self.horizon}")
        return f"CPOMDP{' ' + repr(self.name) if self.name else ''}: {', '.join(parts)}"

    def _repr_html_(self) -> str:
        return notebook.model(self)

    # Inside

    def _with_terms(self, arrays: ModelArrays, **fields: Any) -> CPOMDP:
        """The model with other terms of its costs, and the process without the time alike."""
        base = self.base
        if base is not None:
            of_base = base.arrays._replace(cost_discount=arrays.cost_discount, step_limit=arrays.step_limit)
            base = base._changed(arrays=of_base, **fields)
        return self._changed(arrays=arrays, base=base, **fields)

    def _set(self, **fields: Any) -> None:
        """Write fields past the freeze, and lock the arrays among them."""
        for key, value in fields.items():
            for array in value if isinstance(value, ModelArrays) else (value,):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)
            object.__setattr__(self, key, value)

    def _changed(self, **fields: Any) -> CPOMDP:
        other = object.__new__(type(self))
        source = self.source if fields.keys() <= {"budget"} else None  # what is changed otherwise is another problem
        other._set(**{**self.__getstate__(), "source": source, **fields})
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {key: self.__dict__[key] for key in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)

    def _check_terminal(self, terminal: Any) -> None:
        for s in check.state_indices(terminal, self.states, "terminal"):
            if not self.terminal[s]:
                raise ModelError(
                    f"terminal state {self.states[s]!r} must keep to itself without reward or cost under every action"
                )


def _labels(given: Iterable[Hashable] | None, size: int, kind: str, letter: str) -> Labels:
    if given is None:
        return Labels.computed(size, f"{letter}{{}}".format, kind)
    labels = given if isinstance(given, Labels) else Labels(given, kind)
    if len(labels) != size:
        given_count = check.count(len(labels), f"{kind} label")
        raise ModelError(f"{given_count} given for {check.count(size, kind)}")
    return labels


def _cost_labels(given: Iterable[Hashable] | None, size: int) -> Labels:
    if given is None and size == 1:
        given = ["cost"]
    return _labels(given, size, "cost", "cost")


def _absorbing_for_nothing(arrays: ModelArrays) -> BoolArray:
    """Mask of the states that keep to themselves, without reward or cost, under every action."""
    n, m = arrays.reward.shape
    first = arrays.t_ptr[:-1]
    alone = np.diff(arrays.t_ptr) == 1
    stays = alone & (arrays.t_next[np.minimum(first, arrays.t_next.size - 1)] == np.tile(np.arange(n), m))
    free = (arrays.reward == 0).all(axis=1) & (arrays.cost == 0).all(axis=(0, 2))
    mask: BoolArray = stays.reshape(m, n).all(axis=0) & free
    return mask
