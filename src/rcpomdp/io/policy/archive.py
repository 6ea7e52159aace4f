"""The header of a policy file, and the arrays beside it: what may be in them, and how much."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._types import AnyArray
from ...errors import PolicyError
from .. import archive
from ..archive import Archive, Kind
from .tree import TOO_DEEP, check_tree

FORMAT, FORMAT_VERSION = "rcpomdp-policy", 1
_LONGEST_HEADER = 1 << 26  # bytes
_MOST_BYTES = archive.MOST_BYTES
_DTYPES = ("<f8", "<i8")
_DEEPEST_JSON = 100  # claims and all else


def _kind() -> Kind:
    return Kind("policy file", FORMAT, "policy.json", _LONGEST_HEADER, PolicyError)


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
    archive.write(path, _kind(), header, {str(i): array for i, array in enumerate(arrays)})


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Archive]:
    """A policy file; whatever is wrong with it becomes one sentence."""
    with archive.opened(path, _kind()) as file:
        if file.header["format_version"] > FORMAT_VERSION:
            version = file.header["library_version"]
            raise PolicyError(f"{file.shown} was written by a newer version of rcpomdp ({version})")
        _check_depth(file.header)
        check_tree(file.header["policy"])
        yield file


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


class Arrays:
    """The arrays of a file, each asked for once: no policy takes more room than its file."""

    def __init__(self, file: Archive) -> None:
        self._file = file
        self._given: set[int] = set()
        self._left = _MOST_BYTES

    def __call__(self, i: int) -> AnyArray:
        """The array at a place of the tree."""
        if type(i) is not int:
            raise ValueError("no index")
        if i in self._given:
            raise PolicyError(f"array {i} is named twice")
        self._given.add(i)
        self._left -= self._file.size(str(i))
        if self._left < -_MOST_BYTES // 100:  # what stands before each array is not counted when it is written
            raise PolicyError(f"the arrays have more than {_MOST_BYTES:,} bytes")
        return self._file.array(str(i), str(i), _DTYPES)
