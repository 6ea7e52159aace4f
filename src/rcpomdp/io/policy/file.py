"""Policy files (``.rcp``): a zip archive of one JSON header and plain NumPy arrays.

The header names the format, the model by fingerprint, and the policy as a tree whose arrays stand beside it. It may
also keep what is claimed of the policy, and the problem's name and parameters, from which the model can be built again.
Entries are stored uncompressed, so that no file unpacks to more than its own size; nothing is ever executed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import __version__
from ..._json_values import finite
from ..._types import AnyArray
from ...errors import PolicyError
from ...model import CPOMDP
from ...policies import Policy
from ...policies.base import check_policy
from ..model_file import is_model_file
from .archive import FORMAT, FORMAT_VERSION, Arrays, encoded, opened, write_archive
from .foreign import is_foreign, read_policy
from .tree import TOO_DEEP, build, check_tree, describe, sizes


def save_policy(
    path: str | os.PathLike[str],
    policy: Policy[Any],
    model: CPOMDP,
    claims: Mapping[str, Any] | None = None,
    problem: str | Mapping[str, Any] | None = None,
) -> None:
    """Save a policy for `model`; the file appears whole or not at all.

    A path with the ending of another program's policy files is refused: `write_policy` writes those.

    Parameters
    ----------
    claims : statements about the policy, such as "reward", "cost", "lower" and "upper"; `verify` checks them
    problem : name of a problem or model file, or ``{"name": ..., "parameters": {...}}``, or ``{"file": ...}``, from
        which the model can be built again; what the model remembers of itself unless given
    """
    check_ending(path)
    check_policy(policy)
    recipe = _remembered(model) if problem is None else _recipe(problem)
    try:
        header, arrays = _header_of(policy, model, claims, recipe)
        content = encoded(header, arrays)
    except RecursionError:
        raise PolicyError(TOO_DEEP) from None
    build(header["policy"], model, arrays.__getitem__)  # a policy that does not fit the model is refused now
    write_archive(path, content, arrays)


def _header_of(
    policy: Policy[Any], model: CPOMDP, claims: Mapping[str, Any] | None, problem: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[AnyArray]]:
    """The header of a policy's file, and the arrays beside it."""
    arrays: list[AnyArray] = []
    header: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "model": {
            "name": model.name,
            "fingerprint": model.fingerprint,
            "budget": [None if np.isinf(c) else float(c) for c in model.budget],
        },
        "policy": describe(policy, arrays),
    }
    if claims is not None:
        header["claims"] = {str(name): _json_value(value, f"claim {name!r}") for name, value in claims.items()}
    if problem is not None:
        header["problem"] = problem
    check_tree(header["policy"])
    return header, arrays


def _recipe(problem: str | Mapping[str, Any]) -> dict[str, Any]:
    """A problem's name and parameters, as the file holds them."""
    given: Any = {"name": problem} if isinstance(problem, str | os.PathLike) else problem
    if not isinstance(given, Mapping) or len(given.keys() & {"name", "file"}) != 1:
        raise PolicyError(f"problem is {problem!r}; it needs a name, {{'name': ...}}, or a model file, {{'file': ...}}")
    parameters = given.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise PolicyError(f"the parameters of the problem are {parameters!r}, not a mapping")
    return {
        "name": os.fsdecode(given["name"] if "name" in given else given["file"]),
        "parameters": {str(key): _json_value(value, f"parameter {key!r}") for key, value in parameters.items()},
    }


def _remembered(model: CPOMDP) -> dict[str, Any] | None:
    """What a model remembers of where it is from; nothing if a file cannot hold it."""
    try:
        return None if model.source is None else _recipe(model.source)
    except PolicyError:
        return None


def load_policy(path: str | os.PathLike[str], model: CPOMDP) -> Policy[Any]:
    """The policy in a file, for the model it was made for (its budget may differ).

    A file of another program, by its ending, is read by `read_policy`; it does not say for which model it was made.
    """
    if is_foreign(path):
        return read_policy(path, model)
    with opened(path) as file:
        _check_model(file.header, model, file.shown)
        return build(file.header["policy"], model, Arrays(file))


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file name that would be taken for something else than a policy of ours; a device is none."""
    if is_model_file(os.fsdecode(path)):
        raise PolicyError(f"{os.fsdecode(path)!r} is the name of a model file; save the policy as .rcp")
    if is_foreign(path):
        raise PolicyError(
            f"{os.fsdecode(path)!r} is the name of another program's policy; save as .rcp, or use rc.io.write_policy"
        )
    is_device = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    if not os.fsdecode(path).lower().endswith(".rcp") and not is_device:
        raise PolicyError(f"{os.fsdecode(path)!r} is no name of a policy file; save the policy as .rcp")


def policy_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The facts that a policy file tells of itself, without its model.

    Keys: "policy" (its kind and sizes), "model" (name, fingerprint, budget; None is unlimited), "claims" and "problem"
    (None where the file has none), "format_version" and "library_version".
    """
    if is_foreign(path):
        raise PolicyError(f"{os.fsdecode(path)!r} is another program's policy file, which says nothing of itself")
    with opened(path) as file:
        header = file.header
        model, claims, problem = header["model"], header.get("claims"), header.get("problem")
        if not isinstance(model["budget"], list) or not all(map(_is_budget, model["budget"])):
            raise ValueError("no budget")
        if not isinstance(claims, dict | None):
            raise ValueError("no claims")
        if problem is not None:
            problem = {"name": problem["name"], "parameters": problem["parameters"]}
            if not isinstance(problem["name"], str) or not isinstance(problem["parameters"], dict):
                raise ValueError("no problem")
        return {
            "policy": sizes(header["policy"], Arrays(file)),
            "model": {key: model[key] for key in ("name", "fingerprint", "budget")},
            "problem": problem,
            "claims": claims,
            "format_version": header["format_version"],
            "library_version": header["library_version"],
        }


def _is_budget(value: Any) -> bool:
    """Return whether a JSON value is a budget: null is unlimited."""
    return value is None or (type(value) in (int, float) and 0 <= value <= sys.float_info.max)


def _json_value(value: Any, what: str) -> Any:
    """A value of JSON: arrays are lists, and what is not finite is null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _json_value(item, what) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item, what) for item in value]
    if isinstance(value, float):
        return finite(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise PolicyError(f"{what} is {value!r}, which a policy file cannot hold")


def _check_model(header: dict[str, Any], model: CPOMDP, shown: str) -> None:
    made_for = header["model"]
    if made_for["fingerprint"] != model.fingerprint:
        name = f", {made_for['name']!r}" if made_for["name"] else ""
        raise PolicyError(f"{shown} was made for another model{name}, or for other parameters of it")
