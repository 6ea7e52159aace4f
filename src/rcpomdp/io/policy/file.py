"""Policy files (``.rcp``): a zip archive of one JSON header and plain NumPy arrays.

The header names the format, the model by fingerprint, and the policy as a tree whose arrays stand beside it. It may
also keep what is claimed of the policy, and the problem's name and parameters, from which the model can be built again.
Entries are stored uncompressed, so that no file unpacks to more than its own size; nothing is ever executed.
"""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from tokenize import TokenError
from typing import Any

import numpy as np

from ... import __version__
from ..._json_values import finite
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
)
from ..atomic import whole_file
from ..readable import check_readable
from .foreign import is_foreign, read_policy

FORMAT, FORMAT_VERSION = "rcpomdp-policy", 1
_HEADER = "policy.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same policy gives the same bytes
_DTYPES = ("<f8", "<i8")
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
_LONGEST_HEADER = 1 << 26  # bytes
_MOST_BYTES = 1 << 32  # of all arrays
_MOST_PARTS = 10_000  # policies of a mixture, and of those in it
_DEEPEST = 20  # mixtures in mixtures
_DEEPEST_JSON = 100  # claims and all else
_TOO_DEEP = "mixtures, claims or parameters are nested too deeply"
# What zipfile, json and NumPy's header parser raise on bytes that make no sense; RuntimeError is encryption.
_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError, SyntaxError, TokenError)


def save_policy(
    path: str | os.PathLike[str],
    policy: Policy[Any],
    model: CPOMDP,
    claims: Mapping[str, Any] | None = None,
    problem: Mapping[str, Any] | None = None,
) -> None:
    """Save a policy for `model`; the file appears whole or not at all.

    The endings of other programs' policy files are theirs: `write_policy` writes those.

    Parameters
    ----------
    claims : what is said of the policy, such as "reward", "cost", "lower" and "upper"; `verify` checks them
    problem : ``{"name": ..., "parameters": {...}}``, by which `problems.make` builds the model again
    """
    check_ending(path)
    try:
        header, arrays = _header_of(policy, model, claims, problem)
        content = json.dumps(header, indent=1, allow_nan=False).encode()
        _check_depth(header)
    except RecursionError:
        raise PolicyError(_TOO_DEEP) from None
    if len(content) > _LONGEST_HEADER:
        raise PolicyError(f"claims, parameters and parts of mixtures take more than {_LONGEST_HEADER:,} letters")
    if sum(array.nbytes for array in arrays) > _MOST_BYTES:
        raise PolicyError(f"the policy has more than the {_MOST_BYTES:,} bytes that a policy file may have")
    _build(header["policy"], model, arrays.__getitem__)  # a policy that does not fit the model is refused now
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), content)
        for i, array in enumerate(arrays):
            held = io.BytesIO()
            np.lib.format.write_array(held, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{i}.npy", _DATE), held.getbuffer())


def _header_of(
    policy: Policy[Any], model: CPOMDP, claims: Mapping[str, Any] | None, problem: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[AnyArray]]:
    """What a file says of a policy, and the arrays beside it."""
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
        "policy": _describe(policy, arrays),
    }
    if claims is not None:
        header["claims"] = {str(name): _plain(value, f"claim {name!r}") for name, value in claims.items()}
    if problem is not None:
        header["problem"] = {
            "name": str(problem["name"]),
            "parameters": {
                str(key): _plain(value, f"parameter {key!r}") for key, value in problem.get("parameters", {}).items()
            },
        }
    _check_tree(header["policy"])
    return header, arrays


def load_policy(path: str | os.PathLike[str], model: CPOMDP) -> Policy[Any]:
    """The policy in a file, for the model it was made for (its budget may differ).

    A file of another program, by its ending, is read by `read_policy`; it does not say for which model it was made.
    """
    if is_foreign(path):
        return read_policy(path, model)
    with _opened(path) as (archive, header, shown):
        _check_model(header, model, shown)
        return _build(header["policy"], model, _Arrays(archive))


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file name that would be taken for another program's policy."""
    if is_foreign(path):
        raise PolicyError(
            f"{os.fsdecode(path)!r} is the name of another program's policy; save as .rcp, or use rc.io.write_policy"
        )


def policy_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a policy file says of itself, without its model.

    Keys: "policy" (its kind and sizes), "model" (name, fingerprint, budget; None is unlimited), "claims" and "problem"
    (None where the file has none), "format_version" and "library_version".
    """
    if is_foreign(path):
        raise PolicyError(f"{os.fsdecode(path)!r} is another program's policy file, which says nothing of itself")
    with _opened(path) as (archive, header, _):
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
            "policy": _sizes(header["policy"], _Arrays(archive)),
            "model": {key: model[key] for key in ("name", "fingerprint", "budget")},
            "problem": problem,
            "claims": claims,
            "format_version": header["format_version"],
            "library_version": header["library_version"],
        }


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any], str]]:
    """A policy file, its header, and how to call it; whatever is wrong with it becomes one sentence."""
    check_readable(path, "policy file", PolicyError)
    shown = repr(os.fsdecode(path))
    try:
        with zipfile.ZipFile(os.fsdecode(path)) as archive:
            yield archive, _header(archive, shown), shown
    except OSError as error:
        raise PolicyError(f"policy file {shown} cannot be read: {error.strerror}") from None
    except zipfile.BadZipFile:
        raise PolicyError(f"{shown} is not a policy file, or it is damaged") from None
    except PolicyError as error:
        raise PolicyError(str(error) if shown in str(error) else f"policy file {shown}: {error}") from None
    except MemoryError:
        raise PolicyError(f"policy file {shown} needs more memory than there is") from None
    except _DAMAGE:
        raise PolicyError(f"policy file {shown} is damaged") from None


def _describe(policy: Policy[Any], arrays: list[AnyArray]) -> dict[str, Any]:
    def keep(array: AnyArray) -> int:
        arrays.append(np.ascontiguousarray(array))
        return len(arrays) - 1

    if isinstance(policy, AlphaPolicy):
        return {"kind": "alpha", "vectors": keep(policy.vectors), "actions": keep(policy.actions)}
    if isinstance(policy, BudgetedAlphaPolicy):
        vectors = {"vectors": keep(policy.vectors), "actions": keep(policy.actions), "budget": keep(policy.budget)}
        return {"kind": "budgeted-alpha", **vectors, "mixed": policy.mixed}
    if isinstance(policy, ControllerPolicy):
        nodes = {"actions": keep(policy.actions), "successors": keep(policy.successors)}
        return {"kind": "controller", **nodes, "start": policy.start}
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
            "policies": [_describe(p, arrays) for p in policy.policies],
        }
    raise PolicyError(f"a policy of type {type(policy).__name__} cannot be saved")


def _build(tree: dict[str, Any], model: CPOMDP, array: Callable[[int], AnyArray]) -> Policy[Any]:
    kind = tree["kind"]
    if kind == "alpha":
        return AlphaPolicy(model, array(tree["vectors"]), array(tree["actions"]))
    if kind == "budgeted-alpha":
        if type(tree["mixed"]) is not bool:
            raise ValueError("no truth value")
        vectors, actions, budget = (array(tree[name]) for name in ("vectors", "actions", "budget"))
        return BudgetedAlphaPolicy(model, vectors, actions, budget, tree["mixed"])
    if kind == "controller":
        if type(tree["start"]) is not int:
            raise ValueError("no node")
        return ControllerPolicy(model, array(tree["actions"]), array(tree["successors"]), tree["start"])
    if kind == "plan-set":
        if type(tree["start"]) is not int:
            raise ValueError("no node")
        plans: dict[str, Any] = {name: array(tree[name]) for name in _PLAN_SET}
        return PlanSetPolicy(model, **plans, start=tree["start"])
    if kind == "random":
        return RandomPolicy(model)
    if kind == "mixture":
        policies = [_build(branch, model, array) for branch in tree["policies"]]
        return MixturePolicy(policies, array(tree["weights"]))
    raise PolicyError(f"holds a policy of kind {kind!r}, which this version does not know")


def _sizes(tree: dict[str, Any], array: Callable[[int], AnyArray]) -> dict[str, Any]:
    """Kind and sizes of a policy."""
    kind = tree["kind"]
    if kind == "alpha":
        count, states = array(tree["vectors"]).shape
        return {"kind": kind, "vectors": count, "states": states}
    if kind == "budgeted-alpha":
        count, _, states = array(tree["vectors"]).shape
        return {"kind": kind, "vectors": count, "states": states}
    if kind == "controller":
        count, observations = array(tree["successors"]).shape
        return {"kind": kind, "nodes": count, "observations": observations}
    if kind == "plan-set":
        count, observations = array(tree["successors"]).shape
        plans = int((array(tree["domain"]) >= 0).sum())
        return {"kind": kind, "plans": plans, "belief_nodes": count - plans, "observations": observations}
    if kind == "mixture":
        parts = [_sizes(branch, array) for branch in tree["policies"]]
        return {"kind": kind, "weights": array(tree["weights"]).tolist(), "policies": parts}
    if kind == "random":
        return {"kind": kind}
    raise PolicyError(f"holds a policy of kind {kind!r}, which this version does not know")


def _check_depth(value: Any) -> None:
    """Refuse what is nested so deeply that to print it would exhaust the stack."""
    layer = [value]
    for _ in range(_DEEPEST_JSON):
        inside: list[Any] = []
        for item in layer:
            if isinstance(item, dict | list):
                inside.extend(item.values() if isinstance(item, dict) else item)
        layer = inside
    if layer:
        raise PolicyError(_TOO_DEEP)


def _check_tree(tree: Any) -> None:
    """Refuse mixtures of too many parts, or too deep in each other."""
    layer, parts, depth = [tree], 0, 0
    while layer:
        parts += len(layer)
        if parts > _MOST_PARTS:
            raise PolicyError(f"the policy is a mixture of more than {_MOST_PARTS:,} parts")
        if depth > _DEEPEST:
            raise PolicyError(_TOO_DEEP)
        layer = [part for branch in layer if branch["kind"] == "mixture" for part in branch["policies"]]
        depth += 1


def _is_budget(value: Any) -> bool:
    """Whether JSON has a budget here: null is unlimited."""
    return value is None or (type(value) in (int, float) and 0 <= value <= sys.float_info.max)


def _plain(value: Any, what: str) -> Any:
    """A value as JSON has it; what is not finite is null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item, what) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, what) for item in value]
    if isinstance(value, float):
        return finite(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise PolicyError(f"{what} is {value!r}, which a policy file cannot hold")


def _no_number(word: str) -> float:
    """NaN and Infinity are no JSON, and no file of ours has them."""
    raise ValueError(word)


def _header(archive: zipfile.ZipFile, shown: str) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise PolicyError(f"{shown} is not a policy file")
    if archive.getinfo(_HEADER).file_size > _LONGEST_HEADER:
        raise PolicyError(f"entry {_HEADER!r} has more than {_LONGEST_HEADER:,} bytes")
    header = json.loads(_content(archive, _HEADER), parse_constant=_no_number)
    if header["format"] != FORMAT:
        raise PolicyError(f"{shown} is not a policy file")
    if type(header["format_version"]) is not int or header["format_version"] < 1:
        raise ValueError("no version")
    if header["format_version"] > FORMAT_VERSION:
        raise PolicyError(f"{shown} was written by a newer version of rcpomdp ({header['library_version']})")
    _check_depth(header)
    _check_tree(header["policy"])
    tree: dict[str, Any] = header
    return tree


def _check_model(header: dict[str, Any], model: CPOMDP, shown: str) -> None:
    made_for = header["model"]
    if made_for["fingerprint"] != model.fingerprint:
        name = f", {made_for['name']!r}" if made_for["name"] else ""
        raise PolicyError(f"{shown} was made for another model{name}, or for other parameters of it")


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise PolicyError(f"entry {name!r} is compressed, as no policy file's is")
    return archive.read(name)


class _Arrays:
    """The arrays of a file, each asked for once: no policy takes more room than its file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._given: set[int] = set()
        self._left = _MOST_BYTES

    def __call__(self, i: int) -> AnyArray:
        if type(i) is not int:
            raise ValueError("no index")
        if i in self._given:
            raise PolicyError(f"array {i} is named twice")
        self._given.add(i)
        self._left -= self._archive.getinfo(f"{i}.npy").file_size
        if self._left < -_MOST_BYTES // 100:  # what stands before each array is not counted when it is written
            raise PolicyError(f"the arrays have more than {_MOST_BYTES:,} bytes")
        return _array(self._archive, i)


def _array(archive: zipfile.ZipFile, i: int) -> AnyArray:
    content = io.BytesIO(_content(archive, f"{i}.npy"))
    version = np.lib.format.read_magic(content)
    if version != (1, 0):
        raise PolicyError(f"array {i} has an unknown layout")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns where it has to guess what a header means; ours are plain
        try:
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(content)
        except Warning:
            raise PolicyError(f"array {i} has an unknown layout") from None
    if dtype.str not in _DTYPES or fortran_order or not shape or min(shape) < 0:
        raise PolicyError(f"array {i} has an unknown layout")
    body = content.getbuffer()[content.tell() :]
    return np.frombuffer(body, dtype=dtype).reshape(shape).copy()
