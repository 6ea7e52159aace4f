"""Proof files (``.rcproof``): a zip archive of one JSON header and plain NumPy arrays, one for each field of `Proof`.

The header names the format, the model by fingerprint and budget, the criterion and the bound that is claimed. Entries
are stored uncompressed, whole numbers in 4 bytes; sizes are looked at before anything is read, and nothing is executed.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tokenize import TokenError
from typing import Any

import numpy as np

from .. import __version__
from .._json_values import finite
from .._types import AnyArray
from ..errors import ProofError
from ..model import CPOMDP
from ..verification.proof import Proof
from .atomic import whole_file
from .readable import check_readable

FORMAT, FORMAT_VERSION = "rcpomdp-proof", 1
_HEADER = "proof.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same proof gives the same bytes
_LONGEST_HEADER = 1 << 20  # bytes
_MOST_BYTES = 1 << 32  # of all arrays
_TOLD = ("criterion", "upper")  # in the header
_REALS = ("objective", "weights", "table_level", "table", "level", "point_prob", "entry_value")
_DIMENSIONS = {"table": 3, "weights": 2, "entry_level": 2, "entry_value": 2}  # all others have one
# What zipfile, json and NumPy's header parser raise on bytes that make no sense; RuntimeError is encryption.
_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError, SyntaxError, TokenError)


def save_proof(
    path: str | os.PathLike[str], proof: Proof, model: CPOMDP, problem: Mapping[str, Any] | None = None
) -> None:
    """Save a proof for `model`; the file appears whole or not at all.

    Parameters
    ----------
    problem : ``{"name": ..., "parameters": {...}}``, by which `problems.make` builds the model again
    """
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
    if len(content) > _LONGEST_HEADER or proof.n_bytes > _MOST_BYTES:
        raise ProofError("the proof is larger than a proof file may be")
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), content)
        for name in _arrays():
            held = io.BytesIO()
            array = np.ascontiguousarray(getattr(proof, name), dtype="<f8" if name in _REALS else "<i4")
            np.lib.format.write_array(held, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), held.getbuffer())


def load_proof(path: str | os.PathLike[str], model: CPOMDP) -> Proof:
    """The proof in a file, for the model and the budget that it was made for; whether it holds `check_proof` tells."""
    with _opened(path) as (archive, header, shown):
        made_for = header["model"]
        if made_for["fingerprint"] != model.fingerprint:
            name = f", {made_for['name']!r}" if made_for["name"] else ""
            raise ProofError(f"{shown} was made for another model{name}, or for other parameters of it")
        if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
            raise ProofError(f"the arrays have more than {_MOST_BYTES:,} bytes")
        upper = -np.inf if header["upper"] is None else float(header["upper"])
        proof = Proof(
            criterion=str(header["criterion"]), upper=upper, **{name: _array(archive, name) for name in _arrays()}
        )
        proof.check_form(model)
        return proof


def proof_info(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The facts that a proof file tells of itself, without its model; an `upper` of None is "no policy keeps it"."""
    with _opened(path) as (_, header, _shown):
        model, problem = header["model"], header["problem"]
        if problem is not None and not (isinstance(problem["name"], str) and isinstance(problem["parameters"], dict)):
            raise ValueError("no problem")
        if not isinstance(model["budget"], list):
            raise ValueError("no budget")
        return {key: header[key] for key in ("model", "problem", "criterion", "upper", "library_version")}


def _arrays() -> list[str]:
    return [name for name in Proof._fields if name not in _TOLD]


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any], str]]:
    """A proof file, its header, and its name for complaints; whatever is wrong with it becomes one sentence."""
    check_readable(path, "proof file", ProofError)
    shown = repr(os.fsdecode(path))
    try:
        with zipfile.ZipFile(os.fsdecode(path)) as archive:
            yield archive, _header(archive, shown), shown
    except OSError as error:
        raise ProofError(f"proof file {shown} cannot be read: {error.strerror}") from None
    except zipfile.BadZipFile:
        raise ProofError(f"{shown} is not a proof file, or it is damaged") from None
    except ProofError as error:
        raise ProofError(str(error) if shown in str(error) else f"proof file {shown}: {error}") from None
    except MemoryError:
        raise ProofError(f"proof file {shown} needs more memory than there is") from None
    except _DAMAGE:
        raise ProofError(f"proof file {shown} is damaged") from None


def _header(archive: zipfile.ZipFile, shown: str) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise ProofError(f"{shown} is not a proof file")
    header: dict[str, Any] = json.loads(_content(archive, _HEADER, _LONGEST_HEADER), parse_constant=_no_number)
    if header["format"] != FORMAT:
        raise ProofError(f"{shown} is not a proof file")
    if type(header["format_version"]) is not int or header["format_version"] != FORMAT_VERSION:
        raise ProofError(f"{shown} was written by another version of rcpomdp ({header['library_version']})")
    if type(header["upper"]) not in (float, int, type(None)):
        raise ValueError("no bound")
    return header


def _no_number(word: str) -> float:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(word)


def _content(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    entry = archive.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ProofError(f"entry {name!r} is compressed, as no proof file's is")
    if entry.file_size > most:
        raise ProofError(f"entry {name!r} has more than {most:,} bytes")
    return archive.read(name)


def _array(archive: zipfile.ZipFile, name: str) -> AnyArray:
    content = io.BytesIO(_content(archive, f"{name}.npy", _MOST_BYTES))
    if np.lib.format.read_magic(content) != (1, 0):
        raise ProofError(f"array {name!r} has an unknown layout")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns where it has to guess what a header means; ours are plain
        try:
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(content)
        except Warning:
            raise ProofError(f"array {name!r} has an unknown layout") from None
    wanted = "<f8" if name in _REALS else "<i4"
    if dtype.str != wanted or fortran_order or len(shape) != _DIMENSIONS.get(name, 1) or min(shape) < 0:
        raise ProofError(f"array {name!r} has an unknown layout")
    body = np.frombuffer(content.getbuffer()[content.tell() :], dtype=dtype).reshape(shape)
    return body.astype(np.float64 if name in _REALS else np.int64)
