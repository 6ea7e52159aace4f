"""Policies as trees of plain values whose arrays stand beside them, as a policy file keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._types import AnyArray
from ...errors import PolicyError
from ...model import CPOMDP
from ...policies import (
    AlphaPolicy,
    BudgetedAlphaPolicy,
    ControllerPolicy,
    MixturePolicy,
    PlanSetPolicy,
    Policy,
    RandomPolicy,
    StochasticControllerPolicy,
)
from ...policies.base import TO_TABULATE

TOO_DEEP = "mixtures, claims or parameters are nested too deeply"
_PLAN_SET = (  # arrays of a plan set, as its constructor takes them
    "actions",
    "successors",
    "sure_cost",
    "domain",
    "domain_start",
    "domain_states",
    "values_start",
    "values",
)
_LOTS = ("lot_start", "lot_node", "lot_weight")  # arrays of a stochastic controller, beside those of a controller
_MOST_PARTS = 10_000  # policies of a mixture, and of those in it
_DEEPEST = 20  # mixtures in mixtures


def describe(policy: Policy[Any], arrays: list[AnyArray]) -> dict[str, Any]:
    """The tree of a policy; its arrays are appended to `arrays`, and named by their places there."""

    def keep(array: AnyArray) -> int:
        arrays.append(np.ascontiguousarray(array))
        return len(arrays) - 1

    if isinstance(policy, AlphaPolicy):
        return {"kind": "alpha", "vectors": keep(policy.vectors), "actions": keep(policy.actions)}
    if isinstance(policy, BudgetedAlphaPolicy):
        vectors = {"vectors": keep(policy.vectors), "actions": keep(policy.actions), "budget": keep(policy.budget)}
        return {"kind": "budgeted-alpha", **vectors, "mixed": policy.mixed}
    if isinstance(policy, ControllerPolicy | StochasticControllerPolicy):
        draws = isinstance(policy, StochasticControllerPolicy)
        nodes = {"actions": keep(policy.actions), "successors": keep(policy.successors)}
        lots = {name: keep(getattr(policy, name)) for name in (_LOTS if draws else ())}
        return {"kind": "stochastic-controller" if draws else "controller", **nodes, **lots, "start": policy.start}
    if isinstance(policy, PlanSetPolicy):
        plans = {name: keep(array) for name, array in zip(_PLAN_SET, policy.arrays, strict=True)}
        return {"kind": "plan-set", **plans, "start": policy.start}
    if isinstance(policy, RandomPolicy):
        return {"kind": "random"}
    if isinstance(policy, MixturePolicy):
        weights = keep(policy.weights)
        return {
            "kind": "mixture",
            "weights": weights,
            "policies": [describe(p, arrays) for p in policy.policies],
        }
    raise PolicyError(f"a policy of type {type(policy).__name__} cannot be saved; {TO_TABULATE}")


def build(tree: dict[str, Any], model: CPOMDP, array: Callable[[int], AnyArray]) -> Policy[Any]:
    """The policy of a tree, for a model; `array` gives the array at a place."""
    kind = tree["kind"]
    if kind == "alpha":
        return AlphaPolicy(model, array(tree["vectors"]), array(tree["actions"]))
    if kind == "budgeted-alpha":
        if type(tree["mixed"]) is not bool:
            raise ValueError("no truth value")
        vectors, actions, budget = (array(tree[name]) for name in ("vectors", "actions", "budget"))
        return BudgetedAlphaPolicy(model, vectors, actions, budget, tree["mixed"])
    if kind in ("controller", "stochastic-controller"):
        return _controller(tree, model, array)
    if kind == "plan-set":
        if type(tree["start"]) is not int:
            raise ValueError("no node")
        plans: dict[str, Any] = {name: array(tree[name]) for name in _PLAN_SET}
        return PlanSetPolicy(model, **plans, start=tree["start"])
    if kind == "random":
        return RandomPolicy(model)
    if kind == "mixture":
        policies = [build(branch, model, array) for branch in tree["policies"]]
        return MixturePolicy(policies, array(tree["weights"]))
    raise PolicyError(f"holds a policy of kind {kind!r}, which this version does not know")


def _controller(
    tree: dict[str, Any], model: CPOMDP, array: Callable[[int], AnyArray]
) -> ControllerPolicy | StochasticControllerPolicy:
    if type(tree["start"]) is not int:
        raise ValueError("no node")
    nodes = array(tree["actions"]), array(tree["successors"])
    if tree["kind"] == "controller":
        return ControllerPolicy(model, *nodes, tree["start"])
    start, node, weight = (array(tree[name]) for name in _LOTS)
    return StochasticControllerPolicy(model, *nodes, start, node, weight, tree["start"])


def sizes(tree: dict[str, Any], array: Callable[[int], AnyArray]) -> dict[str, Any]:
    """Kind and sizes of the policy of a tree."""
    kind = tree["kind"]
    if kind == "alpha":
        count, states = array(tree["vectors"]).shape
        return {"kind": kind, "vectors": count, "states": states}
    if kind == "budgeted-alpha":
        count, _, states = array(tree["vectors"]).shape
        return {"kind": kind, "vectors": count, "states": states}
    if kind in ("controller", "stochastic-controller"):
        count, observations = array(tree["successors"]).shape
        lots = {} if kind == "controller" else {"lots": array(tree["lot_start"]).size - 1}
        return {"kind": kind, "nodes": count, **lots, "observations": observations}
    if kind == "plan-set":
        count, observations = array(tree["successors"]).shape
        nodes, guides = (array(tree["domain"]) < 0).sum(), np.isinf(array(tree["sure_cost"])).any(axis=1).sum()
        counts = {"plans": count - int(nodes) - int(guides), "belief_nodes": int(nodes), "guides": int(guides)}
        return {"kind": kind, **counts, "observations": observations}
    if kind == "mixture":
        parts = [sizes(branch, array) for branch in tree["policies"]]
        return {"kind": kind, "weights": array(tree["weights"]).tolist(), "policies": parts}
    if kind == "random":
        return {"kind": kind}
    raise PolicyError(f"holds a policy of kind {kind!r}, which this version does not know")


def check_tree(tree: Any) -> None:
    """Refuse mixtures of too many parts, or too deep in each other."""
    layer, parts, depth = [tree], 0, 0
    while layer:
        parts += len(layer)
        if parts > _MOST_PARTS:
            raise PolicyError(f"the policy is a mixture of more than {_MOST_PARTS:,} parts")
        if depth > _DEEPEST:
            raise PolicyError(TOO_DEEP)
        layer = [part for branch in layer if branch["kind"] == "mixture" for part in branch["policies"]]
        depth += 1
