"""Controllers for machines that have no Python: C tables with a step, and JSON.

Both hold the actions and successors of a controller that starts at a node, and the labels of the model. Policies that
need beliefs are not written: they would need the model in C.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import __version__
from .._types import IntArray
from ..errors import PolicyError
from ..model import CPOMDP
from ..policies import ControllerPolicy, Policy

FORMAT, FORMAT_VERSION = "rcpomdp-controller", 1
_WIDTH = 100  # letters of a line of numbers

_INDICES = {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}
_LABELS = {"type": "array", "minItems": 1, "items": {"type": "string"}}
CONTROLLER_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A finite-state controller",
    "type": "object",
    "properties": {
        "format": {"const": FORMAT},
        "format_version": {"const": FORMAT_VERSION},
        "name": {"type": "string", "description": "of the model"},
        "fingerprint": {"type": "string", "description": "of the model"},
        "actions": _LABELS,
        "observations": _LABELS,
        "start": {"type": "integer", "minimum": 0, "description": "node of the first step"},
        "node_action": {**_INDICES, "description": "place in actions, for each node"},
        "node_next": {
            "type": "array",
            "minItems": 1,
            "items": _INDICES,
            "description": "the node that follows each observation, for each node",
        },
    },
    "required": [
        *("format", "format_version", "name", "fingerprint", "actions", "observations"),
        *("start", "node_action", "node_next"),
    ],
    "additionalProperties": False,
}


def controller_json(policy: Policy[Any], model: CPOMDP) -> str:
    """A controller as JSON, as `CONTROLLER_SCHEMA` describes it."""
    controller = _checked(policy, model)
    return (
        json.dumps(
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "name": model.name,
                "fingerprint": model.fingerprint,
                "actions": [str(a) for a in model.actions],
                "observations": [str(o) for o in model.observations],
                "start": controller.start,
                "node_action": controller.actions.tolist(),
                "node_next": controller.successors.tolist(),
            }
        )
        + "\n"
    )


def controller_c(policy: Policy[Any], model: CPOMDP) -> str:
    r"""A controller as a C99 header: two tables, a step, and a loop from stdin to stdout if CONTROLLER_MAIN is defined.

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("tiger")
    >>> print(controller_c(rc.policies.blind(model, "listen"), model).split("\n")[12])
    static const uint8_t controller_action[CONTROLLER_NODES] = {
    """
    controller = _checked(policy, model)
    n, n_observations = controller.successors.shape
    return _HEADER.format(
        version=__version__,
        nodes=n,
        actions=model.n_actions,
        observations=n_observations,
        start=controller.start,
        name=_literal(model.name),
        action_names=_listed(_literal(str(a)) for a in model.actions),
        observation_names=_listed(_literal(str(o)) for o in model.observations),
        action_type=_type(model.n_actions - 1),
        action=_listed(map(str, controller.actions.tolist())),
        next_type=_type(n - 1),
        next=_rows(controller.successors),
    )


def _checked(policy: Policy[Any], model: CPOMDP) -> ControllerPolicy:
    if not isinstance(policy, ControllerPolicy):
        raise PolicyError(
            f"only controllers can be exported, not {type(policy).__name__}, which would need the model, too: run it "
            "in Python by rc.load_policy, or solve with a larger epsilon: an optimal solve gives a controller"
        )
    policy.batches([], model)  # refuses a controller of another model
    return policy


def _type(largest: int) -> str:
    return next(f"uint{bits}_t" for bits in (8, 16, 32) if largest < 1 << bits)


def _listed(words: Iterable[str]) -> str:
    """Words with commas between, in lines."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > _WIDTH:
            lines.append("")
        lines[-1] += f"{word}, "
    return "\n".join(f"    {line.rstrip()}" for line in lines if line)


def _rows(table: IntArray) -> str:
    return "\n".join("    {" + ", ".join(map(str, row)) + "}," for row in np.asarray(table).tolist())


def _literal(text: str) -> str:
    r"""A text as a C string of plain ASCII: its bytes in UTF-8, and no trigraph.

    >>> print(_literal('say "é"??/'))
    "say \"\303\251\"\?\?/"
    """
    plain = {ord(c): f"\\{c}" for c in '"\\?'}
    coded = (plain.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode("utf-8", "replace"))
    return '"' + "".join(coded) + '"'


_HEADER = """\
/* A finite-state controller, written by rcpomdp {version}. C99; no allocation, no floating point. */
#ifndef RCPOMDP_CONTROLLER_H
#define RCPOMDP_CONTROLLER_H
#include <stdint.h>

#define CONTROLLER_NODES {nodes}
#define CONTROLLER_ACTIONS {actions}
#define CONTROLLER_OBSERVATIONS {observations}
#define CONTROLLER_START {start}

static const char *const controller_name = {name};
/* The action of each node, and the node that follows each observation. */
static const {action_type} controller_action[CONTROLLER_NODES] = {{
{action}
}};
static const {next_type} controller_next[CONTROLLER_NODES][CONTROLLER_OBSERVATIONS] = {{
{next}
}};
static const char *const controller_action_names[CONTROLLER_ACTIONS] = {{
{action_names}
}};
static const char *const controller_observation_names[CONTROLLER_OBSERVATIONS] = {{
{observation_names}
}};

/* The node that follows an observation; -1 if there is no such node or observation. */
static inline long controller_step(long node, long observation)
{{
    if (node < 0 || node >= CONTROLLER_NODES || observation < 0 || observation >= CONTROLLER_OBSERVATIONS)
        return -1;
    return (long)controller_next[node][observation];
}}

#ifdef CONTROLLER_MAIN
#include <stdio.h>

/* Reads observations by their numbers, and writes the number of each action; -1 begins anew. */
int main(void)
{{
    long node = CONTROLLER_START, observation;
    (void)controller_name, (void)controller_action_names, (void)controller_observation_names;
    printf("%d\\n", (int)controller_action[node]);
    while (scanf("%ld", &observation) == 1) {{
        node = observation == -1 ? CONTROLLER_START : controller_step(node, observation);
        if (node < 0) {{
            fprintf(stderr, "there is no observation %ld\\n", observation);
            return 2;
        }}
        printf("%d\\n", (int)controller_action[node]);
    }}
    return 0;
}}
#endif
#endif
"""
