"""Policies in the formats of other programs, by the ending of the file.

- ``.policy``: α-vectors in XML, as SARSOP (APPL) has them (`io/policy/sarsop.py`)
- ``.alpha``: α-vectors as text, as pomdp-solve has them (`io/policy/pomdp_solve.py`)
- ``.pg``: policy graphs as text, as pomdp-solve has them (the same)

None of them names its model, keeps claims or knows budgets; our own format (``.rcp``, `io/policy/file.py`) does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import PolicyError
from ...model import CPOMDP
from ...policies import AlphaPolicy, ControllerPolicy, Policy
from ..atomic import whole_file
from ..readable import MOST_VALUES, check_readable
from .pomdp_solve import alpha_lines, graph_lines, read_alpha, read_graph
from .sarsop import read_sarsop, sarsop_lines

FOREIGN = (".policy", ".alpha", ".pg")


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Return whether a file's ending is that of another program's policies.

    >>> is_foreign("tiger.policy"), is_foreign("tiger.rcp")
    (True, False)
    """
    return _ending(path) in FOREIGN


def read_policy(path: str | os.PathLike[str], model: CPOMDP, start: int | None = None) -> Policy[Any]:
    """The policy in a ``.policy``, ``.alpha`` or ``.pg`` file, for a model with as many states, actions and so on.

    Parameters
    ----------
    start : the node at which a ``.pg`` graph is entered, by its place in the file. Unless given it is that of the
        best vector at the initial belief in the ``.alpha`` file of the same name, if there is one, as pomdp-solve
        leaves it; else the first.
    """
    ending = _known(path)
    if start is not None and ending != ".pg":
        raise PolicyError(f"a {ending} file has no nodes to start at")
    check_readable(path, "policy file", PolicyError)
    shown = repr(os.fsdecode(path))
    try:
        if ending == ".policy":
            return read_sarsop(path, model)
        return read_alpha(path, model) if ending == ".alpha" else read_graph(path, model, start)
    except OSError as error:
        raise PolicyError(f"policy file {shown} cannot be read: {error.strerror}") from None
    except MemoryError:
        raise PolicyError(f"policy file {shown} needs more memory than there is") from None
    except PolicyError as error:
        raise PolicyError(str(error) if shown in str(error) else f"policy file {shown}: {error}") from None


def write_policy(path: str | os.PathLike[str], policy: Policy[Any], model: CPOMDP) -> None:
    """Write a policy in the format that the ending asks for; the file appears whole or not at all.

    α-vectors go to ``.policy`` and ``.alpha``, controllers to ``.pg``, where the first node is the one to start at.
    """
    ending = _known(path)
    wanted: type[AlphaPolicy | ControllerPolicy] = ControllerPolicy if ending == ".pg" else AlphaPolicy
    if not isinstance(policy, wanted):
        raise PolicyError(f"a {ending} file holds {_HOLDS[ending]}, and {_why_not(policy)}")
    held = policy.vectors if isinstance(policy, AlphaPolicy) else policy.successors
    if held.size > MOST_VALUES:
        raise PolicyError(f"the policy has {held.size:,} values, more than the {MOST_VALUES:,} that fit")
    # A policy that does not fit the model is refused by the making of it.
    lines: Iterable[str]
    if isinstance(policy, ControllerPolicy):
        lines = graph_lines(ControllerPolicy(model, policy.actions, policy.successors, policy.start))
    else:
        make: Callable[[AlphaPolicy, CPOMDP], Iterable[str]] = sarsop_lines if ending == ".policy" else alpha_lines
        lines = make(AlphaPolicy(model, policy.vectors, policy.actions), model)
    with whole_file(path) as file:
        for line in lines:
            file.write(line.encode())
            file.write(b"\n")


_HOLDS = {".policy": "one set of α-vectors", ".alpha": "one set of α-vectors", ".pg": "one controller"}
_REASONS = {
    "AlphaPolicy": "α-vectors name no successors; write .policy or .alpha",
    "BudgetedAlphaPolicy": "this policy also looks at what is left of the budget",
    "ControllerPolicy": "a controller has no vectors; write .pg, or those of its nodes (rc.policies.node_vectors)",
    "MixturePolicy": "a mixture is several policies, one of which is drawn",
    "RandomPolicy": "a random policy is neither",
    "StochasticControllerPolicy": "this controller draws lots",
}


def _why_not(policy: Policy[Any]) -> str:
    kind = type(policy).__name__
    return _REASONS.get(kind, f"a policy of type {kind} is not known to it")


def _ending(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.fsdecode(path))[1]


def _known(path: str | os.PathLike[str]) -> str:
    ending = _ending(path)
    if ending not in FOREIGN:
        raise PolicyError(f"{os.fsdecode(path)!r} does not end in {', '.join(FOREIGN[:-1])} or {FOREIGN[-1]}")
    return ending
