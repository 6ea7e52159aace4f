"""The zip archive of a policy file: its header, and its arrays.

Whatever is wrong with a stranger's file becomes one sentence. Nothing is executed, and nothing takes more room than the
file itself.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tokenize import TokenError
from typing import Any

import numpy as np

from ..._types import AnyArray
from ...errors import PolicyError
from ..atomic import whole_file
from ..readable import check_readable
from .tree import TOO_DEEP, check_tree

FORMAT, FORMAT_VERSION = "rcpomdp-policy", 1
_HEADER = "policy.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same policy gives the same bytes
_LONGEST_HEADER = 1 << 26  # bytes
_MOST_BYTES = 1 << 32  # of all arrays
_DTYPES = ("<f8", "<i8")
_DEEPEST_JSON = 100  # claims and all else
# What zipfile, json and NumPy's header parser raise on bytes that make no sense; RuntimeError is encryption.
_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError, SyntaxError, TokenError)


def encoded(header: dict[str, Any], arrays: Sequence[AnyArray]) -> bytes:
    """The bytes of a header; what no file may hold, in it or beside it, is refused."""
    content = json.dumps(header, indent=1, allow_nan=False).encode()
    _check_depth(header)
    if len(content) > _LONGEST_HEADER:
        raise PolicyError(f"claims, parameters and parts of mixtures take more than {_LONGEST_HEADER:,} letters")
    if sum(array.nbytes for array in arrays) > _MOST_BYTES:
        raise PolicyError(f"the policy has more than the {_MOST_BYTES:,} bytes that a policy file may have")
    return content


def write_archive(path: str | os.PathLike[str], header: bytes, arrays: Sequence[AnyArray]) -> None:
    """Write a header and the arrays beside it; the file appears whole or not at all."""
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), header)
        for i, array in enumerate(arrays):
            held = io.BytesIO()
            np.lib.format.write_array(held, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{i}.npy", _DATE), held.getbuffer())


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any], str]]:
    """A policy file, its header, and its name for complaints; whatever is wrong with it becomes one sentence."""
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
        raise PolicyError(TOO_DEEP)


def _no_number(word: str) -> float:
    """Refuse NaN and Infinity, which are no JSON."""
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
    check_tree(header["policy"])
    tree: dict[str, Any] = header
    return tree


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise PolicyError(f"entry {name!r} is compressed, as no policy file's is")
    return archive.read(name)


class Arrays:
    """The arrays of a file, each asked for once: no policy takes more room than its file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._given: set[int] = set()
        self._left = _MOST_BYTES

    def __call__(self, i: int) -> AnyArray:
        """The array at a place of the tree."""
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
