"""Archives of one JSON header and plain NumPy arrays: what policy files and proof files are made of.

Whatever is wrong with a stranger's file becomes one sentence. Entries are stored uncompressed, so that nothing takes
more room than the file itself, and nothing is executed.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np

from .._types import AnyArray
from ..errors import InputError
from .atomic import whole_file
from .readable import check_readable

MOST_BYTES = 1 << 32  # of all arrays
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content gives the same bytes
# What zipfile, json and NumPy's header parser raise on bytes that make no sense; RuntimeError is encryption.
_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, EOFError, RuntimeError, SyntaxError, TokenError)


class Kind(NamedTuple):
    """A kind of file."""

    name: str  # "policy file"
    format: str  # as its header says
    entry: str  # of the header
    longest: int  # bytes of the header
    error: type[InputError]


def write(path: str | os.PathLike[str], kind: Kind, header: bytes, arrays: Mapping[str, AnyArray]) -> None:
    """Write a header and the arrays beside it; the file appears whole or not at all."""
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(kind.entry, _DATE), header)
        for name, array in arrays.items():
            held = io.BytesIO()
            np.lib.format.write_array(held, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), held.getbuffer())


class Archive:
    """An archive that is open for reading."""

    def __init__(self, kind: Kind, archive: zipfile.ZipFile, shown: str) -> None:
        self.kind, self.shown = kind, shown
        self._archive = archive
        names = archive.namelist()
        if len(set(names)) < len(names):  # another reader may take the other one
            raise kind.error(f"{shown} has two entries of one name, as no {kind.name} has")
        self.header = self._header()

    def size(self, name: str) -> int:
        """Bytes of an array's entry."""
        return self._archive.getinfo(f"{name}.npy").file_size

    def array(self, name: str, told: str, dtypes: Collection[str]) -> AnyArray:
        """An array of one of some types; `told` is its name for complaints."""
        content = io.BytesIO(self._content(f"{name}.npy", MOST_BYTES))
        unknown = self.kind.error(f"array {told} has an unknown layout")
        if np.lib.format.read_magic(content) != (1, 0):
            raise unknown
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns where it has to guess what a header means; ours are plain
            try:
                shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(content)
            except Warning:
                raise unknown from None
        if dtype.str not in dtypes or fortran_order or not shape or min(shape) < 0:
            raise unknown
        body = content.getbuffer()[content.tell() :]
        return np.frombuffer(body, dtype=dtype).reshape(shape).copy()

    def _header(self) -> dict[str, Any]:
        if self.kind.entry not in self._archive.namelist():
            raise self.kind.error(f"{self.shown} is not a {self.kind.name}")
        content = self._content(self.kind.entry, self.kind.longest)
        header: dict[str, Any] = json.loads(content, parse_constant=_no_number)
        if header["format"] != self.kind.format:
            raise self.kind.error(f"{self.shown} is not a {self.kind.name}")
        if type(header["format_version"]) is not int or header["format_version"] < 1:
            raise ValueError("no version")
        return header

    def _content(self, name: str, most: int) -> bytes:
        entry = self._archive.getinfo(name)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise self.kind.error(f"entry {name!r} is compressed, as no {self.kind.name}'s is")
        if entry.file_size > most:
            raise self.kind.error(f"entry {name!r} has more than {most:,} bytes")
        return self._archive.read(name)


@contextmanager
def opened(path: str | os.PathLike[str], kind: Kind) -> Iterator[Archive]:
    """A file of a kind; whatever is wrong with it, here or in the block, becomes one sentence."""
    check_readable(path, kind.name, kind.error)
    shown = repr(os.fsdecode(path))
    try:
        with zipfile.ZipFile(os.fsdecode(path)) as archive:
            yield Archive(kind, archive, shown)
    except OSError as error:
        raise kind.error(f"{kind.name} {shown} cannot be read: {error.strerror}") from None
    except zipfile.BadZipFile:
        raise kind.error(f"{shown} is not a {kind.name}, or it is damaged") from None
    except kind.error as error:
        raise kind.error(str(error) if shown in str(error) else f"{kind.name} {shown}: {error}") from None
    except MemoryError:
        raise kind.error(f"{kind.name} {shown} needs more memory than there is") from None
    except _DAMAGE:
        raise kind.error(f"{kind.name} {shown} is damaged") from None


def _no_number(word: str) -> float:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(word)
