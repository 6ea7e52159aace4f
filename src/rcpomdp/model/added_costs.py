"""Further costs for a model that is there already, as functions, arrays, or lines of text.

A line is ``NAME: ACTION : STATE : NEXT : OBSERVATION VALUE``, as in ``#! C[NAME]: ...`` of a `.pomdp` file: ``*``
stands for all, what is left out at the end for all as well, and of several lines about one thing the last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import tolerance
from .._types import FloatArray
from ..errors import ModelError, did_you_mean
from . import validation as check
from .cpomdp import CPOMDP
from .functions import VALUE_FORMS, arity
from .horizon import over_horizon
from .labels import Labels

Costs = Mapping[Any, Any] | Iterable[str] | str
_ALL = "*"


def with_costs(model: CPOMDP, costs: Costs, budget: Any, cost_discount: Any, step_limit: Any) -> CPOMDP:
    """The model with these costs after its own (`CPOMDP.with_costs`)."""
    if model.horizon is not None:
        return over_horizon(with_costs(model.without_time(), costs, budget, cost_discount, step_limit), model.horizon)
    given = costs if isinstance(costs, Mapping) else _by_lines(model, [costs] if isinstance(costs, str) else costs)
    if not given:
        raise ModelError("no cost is given that could be added")
    own = Labels(given, "cost")
    added = np.stack([_table(model, values, f"cost {name!r}") for name, values in given.items()])
    names = Labels([*model.costs, *own], "cost")  # which refuses a name that is there already
    limit = np.append(model.step_limit, check.step_limits(step_limit, own))
    arrays = model.arrays._replace(
        cost=np.concatenate([model.cost, added]),
        cost_discount=np.append(model.cost_discount, check.cost_discounts(cost_discount, own, model.discount)),
        step_limit=tolerance.spending_limit(limit),
    )
    return model._changed(
        arrays=arrays,
        budget=np.append(model.budget, check.budget_vector(budget, own)),
        step_limit=limit,
        costs=names,
        terminal=model.terminal & (added == 0).all(axis=(0, 2)),
    )


def costly_ends(model: CPOMDP) -> list[Hashable]:
    """States that keep to themselves under every action and earn nothing, but cost something: perhaps meant as ends."""
    stays = np.ones(model.n_states, dtype=np.bool_)
    for moves in model.transition:
        stays &= moves.diagonal() >= 1 - 1e-12
    found = stays & (model.reward == 0).all(axis=1) & (model.cost > 0).any(axis=(0, 2))
    return [model.states[s] for s in np.flatnonzero(found).tolist()]


def _table(model: CPOMDP, values: Any, what: str) -> FloatArray:
    """C[s, a] of a function over labels or of an array."""
    if not callable(values):
        m = model.arrays
        given = check.real_array(values, what)
        check.check_not_negative(given, what, model.states, model.actions)
        t_rows, z_rows = (m.t_ptr, m.t_next, m.t_prob), (m.z_ptr, m.z_obs, m.z_prob)
        return check.expectation(given, what, t_rows, z_rows, model.states, model.actions, model.n_observations)
    takes = arity(values, what, VALUE_FORMS)
    table = np.zeros((model.n_states, model.n_actions))
    for a, action in enumerate(model.actions):
        for s in np.flatnonzero(~model.terminal).tolist():
            where = f"{what} of state {model.states[s]!r} under action {action!r} is"
            table[s, a] = sum(
                p * _number(values(model.states[s], action, *then), where) for then, p in _then(model, s, a, takes)
            )
    check.check_not_negative(table, what, model.states, model.actions)
    return table


def _number(value: Any, where: str) -> float:
    number = check.real_number(value, where)
    if not np.isfinite(number) or number < 0:
        raise ModelError(f"{where} {number:.12g}, not a finite number of at least 0")
    return number


def _then(model: CPOMDP, s: int, a: int, takes: int) -> Iterable[tuple[tuple[Hashable, ...], float]]:
    """What may follow a state and an action, as far as a function takes it, with its probability."""
    if takes == 2:
        yield (), 1.0
        return
    moves, sees = model.transition[a], model.observation[a]
    for i in range(moves.indptr[s], moves.indptr[s + 1]):
        after, p = int(moves.indices[i]), float(moves.data[i])
        if takes == 3:
            yield (model.states[after],), p
            continue
        for j in range(sees.indptr[after], sees.indptr[after + 1]):
            yield (model.states[after], model.observations[int(sees.indices[j])]), p * float(sees.data[j])


class _Line(NamedTuple):
    """A statement about a cost; None stands for all."""

    action: str | None
    state: str | None
    after: str | None
    observation: str | None
    value: float


def _by_lines(model: CPOMDP, lines: Iterable[str]) -> dict[str, Callable[..., float]]:
    """Functions of the costs that lines tell of, by name."""
    found: dict[str, list[_Line]] = {}
    for line in lines:
        name, parsed = _parsed(model, line)
        found.setdefault(name, []).append(parsed)
    return {name: _function(about) for name, about in found.items()}


def _parsed(model: CPOMDP, line: str) -> tuple[str, _Line]:
    form = "NAME: ACTION : STATE VALUE, as in 'energy: forward : * 1'"
    if not isinstance(line, str):
        raise ModelError(f"cost {line!r} is no text of the form {form}")
    name, *fields = (field.strip() for field in line.split(":"))
    last, _, number = fields[-1].rpartition(" ") if fields else ("", "", "")
    if not name or not last or not 1 <= len(fields) <= 4:
        raise ModelError(f"cost {line!r} is not of the form {form}")
    try:
        value = float(number)
    except ValueError:
        raise ModelError(f"cost {line!r} ends in {number!r}, which is no number") from None
    _number(value, f"cost {line!r} is")
    kinds: Sequence[tuple[Labels, str]] = (
        (model.actions, "action"),
        (model.states, "state"),
        (model.states, "state"),
        (model.observations, "observation"),
    )
    told = [*fields[:-1], last.strip()]
    for word, (labels, kind) in zip(told, kinds, strict=False):
        texts = [str(label) for label in labels] if word != _ALL else [_ALL]
        if word not in texts:
            raise ModelError(f"cost {line!r} names an unknown {kind} {word!r}{did_you_mean(word, texts)}")
    action, state, after, observation = (*(None if word == _ALL else word for word in told), None, None, None)[:4]
    return name, _Line(action, state, after, observation, value)


def _function(lines: list[_Line]) -> Callable[..., float]:
    """A function over labels, of no more of them than the lines name."""

    def value(labels: tuple[Hashable, ...]) -> float:
        texts = [str(label) for label in labels]
        texts[:2] = texts[1::-1]  # lines name the action first
        return next(
            (
                line.value
                for line in reversed(lines)
                if all(w in (None, t) for w, t in zip(line[:4], texts, strict=False))
            ),
            0.0,
        )

    if any(line.observation is not None for line in lines):
        return lambda s, a, after, o: value((s, a, after, o))
    if any(line.after is not None for line in lines):
        return lambda s, a, after: value((s, a, after))
    return lambda s, a: value((s, a))
