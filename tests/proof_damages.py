"""Damages of proofs: whatever is changed, a proof must not prove what is false."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rcpomdp import CPOMDP, Proof, ProofError, check_proof

_Change = Callable[[np.random.Generator, dict[str, Any]], None]


def _some(rng: np.random.Generator, array: Any) -> tuple[int, ...]:
    return tuple(int(rng.integers(n)) for n in array.shape)


def _bound_lowered(rng: np.random.Generator, p: dict[str, Any]) -> None:
    at = _some(rng, p["entry_value"]) if p["entry_value"].size else None
    if at is not None:
        p["entry_value"][at] -= rng.choice([1e-6, 0.1, 10.0, 1e6])


def _all_bounds_lowered(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["entry_value"] -= rng.choice([1e-3, 0.1, 10.0])


def _everything_lowered(rng: np.random.Generator, p: dict[str, Any]) -> None:
    by = rng.choice([1e-3, 0.1, 10.0])
    p["entry_value"] -= by
    p["table"] -= by


def _table_lowered(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["table"][_some(rng, p["table"])] -= rng.choice([1e-6, 0.1, 10.0, 1e6])


def _impossible(rng: np.random.Generator, p: dict[str, Any]) -> None:
    exact = np.flatnonzero(p["entry_mode"] == -1)
    if exact.size:
        p["entry_value"][rng.choice(exact)] = -np.inf


def _all_impossible(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["entry_value"][p["entry_mode"] == -1] = -np.inf


def _order_turned(rng: np.random.Generator, p: dict[str, Any]) -> None:
    order = rng.permutation(len(p["entry_point"]))
    for name in ("entry_point", "entry_mode", "entry_level", "entry_value"):
        p[name] = p[name][order]
    p["entry_value"][p["entry_mode"] == -1] = -np.inf


def _weight_changed(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["weights"][_some(rng, p["weights"])] *= rng.choice([0.0, 0.5, -1.0, 3.0])


def _probability_changed(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["point_prob"][_some(rng, p["point_prob"])] *= rng.choice([0.5, 1 + 1e-9, 1 + 1e-13, 100.0])


def _beliefs_swapped(rng: np.random.Generator, p: dict[str, Any]) -> None:
    for name in ("entry_point", "cover_target"):
        if len(p[name]) > 1:
            i, j = rng.integers(len(p[name]), size=2)
            p[name][[i, j]] = p[name][[j, i]]


def _states_swapped(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["point_state"] = rng.permutation(p["point_state"])


def _edge_dropped(rng: np.random.Generator, p: dict[str, Any]) -> None:
    n = len(p["cover_point"])
    if n:
        keep = np.arange(n) != rng.integers(n)
        sizes = np.diff(p["cover_ptr"])
        p["cover_target"] = p["cover_target"][np.repeat(keep, sizes)]
        p["cover_ptr"] = np.concatenate([[0], np.cumsum(sizes[keep])])
        for name in ("cover_point", "cover_action", "cover_observation"):
            p[name] = p[name][keep]


def _edge_moved(rng: np.random.Generator, p: dict[str, Any]) -> None:
    name = str(rng.choice(["cover_point", "cover_action", "cover_observation", "cover_target"]))
    if len(p[name]):
        p[name][rng.integers(len(p[name]))] = rng.integers(p[name].max() + 2)


def _circle(rng: np.random.Generator, p: dict[str, Any]) -> None:
    """Every cover names the point that it is of: bounds that vouch for themselves."""
    p["cover_target"][p["cover_ptr"][:-1][np.diff(p["cover_ptr"]) > 0]] = p["cover_point"][np.diff(p["cover_ptr"]) > 0]
    p["entry_value"] -= 1.0


def _level_changed(rng: np.random.Generator, p: dict[str, Any]) -> None:
    name = str(rng.choice(["level", "table_level"]))
    p[name] = p[name] * rng.choice([0.5, 0.99, 1.01])


def _budget_raised(rng: np.random.Generator, p: dict[str, Any]) -> None:
    if p["entry_level"].size:
        at = _some(rng, p["entry_level"])
        p["entry_level"][at] = rng.integers(p["entry_level"].max() + 2)


def _mode_changed(rng: np.random.Generator, p: dict[str, Any]) -> None:
    if len(p["entry_mode"]):
        p["entry_mode"][rng.integers(len(p["entry_mode"]))] = rng.integers(-1, len(p["weights"]) + 1)


def _class_changed(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["class_of"][rng.integers(len(p["class_of"]))] = rng.integers(p["class_of"].max() + 2)


def _no_number(rng: np.random.Generator, p: dict[str, Any]) -> None:
    name = str(rng.choice([n for n, v in p.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size]))
    p[name][_some(rng, p[name])] = rng.choice([np.nan, np.inf, -np.inf])


def _huge_count(rng: np.random.Generator, p: dict[str, Any]) -> None:
    name = str(rng.choice([n for n, v in p.items() if isinstance(v, np.ndarray) and v.dtype.kind == "i" and v.size]))
    p[name][_some(rng, p[name])] = rng.choice([2**31 - 1, 2**62, -1, -(2**62)])


def _cut_short(rng: np.random.Generator, p: dict[str, Any]) -> None:
    name = str(rng.choice([n for n, v in p.items() if isinstance(v, np.ndarray) and len(v)]))
    p[name] = p[name][:-1]


def _another_question(rng: np.random.Generator, p: dict[str, Any]) -> None:
    p["criterion"] = str(rng.choice(["every history", "expectation", "none", "nothing"]))


def _late_changed(rng: np.random.Generator, p: dict[str, Any]) -> None:
    """A one-step belief stands for another one, and its bounds are lowered."""
    if p["late_of"].size:
        p["late_of"][rng.integers(len(p["late_of"]))] = rng.integers(p["late_of"].max() + 1)
        late = p["table"][:, len(p["class_of"]) :]
        late[_some(rng, late)] -= rng.choice([0.0, 0.1, 10.0])


DAMAGES: tuple[_Change, ...] = (
    *(_bound_lowered, _all_bounds_lowered, _everything_lowered, _table_lowered, _impossible, _all_impossible),
    *(_order_turned, _weight_changed, _probability_changed, _beliefs_swapped, _states_swapped, _edge_dropped),
    *(_edge_moved, _circle, _level_changed, _budget_raised, _mode_changed, _class_changed, _no_number, _huge_count),
    *(_cut_short, _another_question, _late_changed),
)


def damaged(rng: np.random.Generator, proof: Proof, kind: int, claim: float) -> Proof:
    """The proof with one kind of damage, or two, that claims a bound."""
    fields = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in proof._asdict().items()}
    DAMAGES[kind](rng, fields)
    if rng.random() < 0.3:
        DAMAGES[int(rng.integers(len(DAMAGES)))](rng, fields)
    return Proof(**fields)._replace(upper=claim)


def attack(model: CPOMDP, proof: Proof, attained: float, seed: int, kind: int) -> str:
    """What becomes of one damaged proof that claims less than a policy attains: "refused", "no proof" or "BELIEVED".

    Believed, too, is a proof of which less is said to be proven than a policy attains, whatever it claims. With the
    criterion "none" nothing that a policy attains within a budget is above what is claimed.
    """
    rng = np.random.default_rng(seed)
    false = -np.inf if rng.random() < 0.2 else attained - max(1e-6 * abs(attained), float(rng.choice([1e-6, 0.1, 10])))
    try:
        found = check_proof(model, damaged(rng, proof, kind, false))
    except ProofError:
        return "no proof"
    return "BELIEVED" if found.confirmed or found.upper < attained - 1e-9 * max(1.0, abs(attained)) else "refused"
