"""Policies that have a name on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..errors import PolicyError, did_you_mean
from ..model import CPOMDP
from ..policies.alpha import fib, qmdp
from ..policies.base import Policy
from ..policies.controller import blind
from ..policies.random import RandomPolicy

NAMES = {
    "blind:ACTION": "one action for ever",
    "random": "uniform",
    "qmdp": "QMDP-greedy",
    "fib": "FIB-greedy",
}


def is_path(text: str) -> bool:
    """True if a text means a policy file rather than one of `NAMES`."""
    if text.partition(":")[0] == "blind" or text in NAMES:
        return False
    from ..io.policy.foreign import is_foreign

    return os.path.exists(text) or os.sep in text or text.endswith(".rcp") or is_foreign(text)


def from_name(model: CPOMDP, text: str) -> Policy[Any]:
    """The policy that a text means: one of `NAMES`, or the path of a policy file."""
    name, _, action = text.partition(":")
    if name == "blind":
        if not action:
            raise PolicyError(f"policy 'blind' needs an action, as in 'blind:{model.actions[0]}'")
        return blind(model, action)
    makers: dict[str, Callable[[CPOMDP], Policy[Any]]] = {"random": RandomPolicy, "qmdp": qmdp, "fib": fib}
    if text in makers:
        return makers[text](model)
    if is_path(text):
        from ..io import load_policy

        return load_policy(text, model)
    known = ", ".join(NAMES)
    hint = did_you_mean(text, ["blind", *makers])
    raise PolicyError(f"unknown policy {text!r}{hint or f': give {known} or the path of a policy file'}")
