"""Proof files (``.rcproof``): a zip archive of one JSON header and plain NumPy arrays, one for each field of `Proof`.

The header names the format, the model by fingerprint and budget, the criterion and the bound that is claimed. Entries
are stored uncompressed, whole numbers in 4 bytes; sizes are looked at before anything is read, and nothing is executed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import __version__
from .._json_values import finite
from .._types import AnyArray
from ..errors import ProofError
from ..model import CPOMDP
from ..verification.proof import Proof
from . import archive
from .archive import Archive, Kind

FORMAT, FORMAT_VERSION = "rcpomdp-proof", 1
_LONGEST_HEADER = 1 << 20  # bytes
_KIND = Kind("proof file", FORMAT, "proof.json", _LONGEST_HEADER, ProofError)
_TOLD = ("criterion", "upper")  # in the header
_REALS = ("objective", "weights", "table_level", "table", "level", "point_prob", "entry_value")
_DIMENSIONS = {"table": 3, "weights": 2, "entry_level": 2, "entry_value": 2}  # all others have one


def check_proof_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file name that would be taken for something else than a proof; a device is none."""
    is_device = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    if not os.fsdecode(path).lower().endswith(".rcproof") and not is_device:
        raise ProofError(f"{os.fsdecode(path)!r} is no name of a proof file; save the proof as .rcproof")


def save_proof(
    path: str | os.PathLike[str], proof: Proof, model: CPOMDP, problem: Mapping[str, Any] | None = None
) -> None:
    """Save a proof for `model`; the file appears whole or not at all.

    Parameters
    ----------
    problem : ``{"name": ..., "parameters": {...}}``, by which `problems.make` builds the model again
    """
    check_proof_ending(path)
    proof.check_form(model)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "model": {
            "name": model.name,
            "fingerprint": model.fingerprint,
            "budget": [finite(float(limit)) for limit in model.budget],
        },
        "problem": None if problem is None else {"name": problem["name"], "parameters": dict(problem["parameters"])},
        "criterion": proof.criterion,
        "upper": finite(proof.upper),
    }
    content = json.dumps(header, indent=1, allow_nan=False).encode()
    if len(content) > _LONGEST_HEADER or proof.n_bytes > archive.MOST_BYTES:
        raise ProofError("the proof is larger than a proof file may be")
    arrays = {name: np.ascontiguousarray(getattr(proof, name), dtype=_dtype(name)) for name in _arrays()}
    archive.write(path, _KIND, content, arrays)


def load_proof(path: str | os.PathLike[str], model: CPOMDP) -> Proof:
    """The proof in a file, for the model and the budget that it was made for; whether it holds `check_proof` tells."""
    with _opened(path) as file:
        header, made_for = file.header, file.header["model"]
        if made_for["fingerprint"] != model.fingerprint:
            name = f", {made_for['name']!r}" if made_for["name"] else ""
            raise ProofError(f"{file.shown} was made for another model{name}, or for other parameters of it")
        if sum(map(file.size, _arrays())) > archive.MOST_BYTES:
            raise ProofError(f"the arrays have more than {archive.MOST_BYTES:,} bytes")
        upper = -np.inf if header["upper"] is None else float(header["upper"])
        proof = Proof(
            criterion=str(header["criterion"]), upper=upper, **{name: _array(file, name) for name in _arrays()}
        )
        proof.check_form(model)
        return proof


def proof_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The facts that a proof file tells of itself, without its model; an `upper` of None is "no policy keeps it"."""
    with _opened(path) as file:
        header = file.header
        model, problem = header["model"], header["problem"]
        if problem is not None and not (isinstance(problem["name"], str) and isinstance(problem["parameters"], dict)):
            raise ValueError("no problem")
        if not isinstance(model["budget"], list):
            raise ValueError("no budget")
        return {key: header[key] for key in ("model", "problem", "criterion", "upper", "library_version")}


def _arrays() -> list[str]:
    return [name for name in Proof._fields if name not in _TOLD]


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Archive]:
    """A proof file; whatever is wrong with it becomes one sentence."""
    with archive.opened(path, _KIND) as file:
        if file.header["format_version"] != FORMAT_VERSION:
            version = file.header["library_version"]
            raise ProofError(f"{file.shown} was written by another version of rcpomdp ({version})")
        if type(file.header["upper"]) not in (float, int, type(None)):
            raise ValueError("no bound")
        yield file


def _array(file: Archive, name: str) -> AnyArray:
    array = file.array(name, repr(name), (_dtype(name),))
    if array.ndim != _DIMENSIONS.get(name, 1):
        raise ProofError(f"array {name!r} has an unknown layout")
    return array.astype(np.float64 if name in _REALS else np.int64)


def _dtype(name: str) -> str:
    return "<f8" if name in _REALS else "<i4"
