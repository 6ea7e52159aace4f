"""Write a file whole or not at all."""

from __future__ import annotations

import fcntl
import glob
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError

_PART = ".part"  # how names of files end that are being written
_OLD = 60.0  # seconds after which a part that nobody holds was left behind: its writer may not have got to lock it


def check_writable(path: str | os.PathLike[str], *made_from: str | None) -> None:
    """Refuse a path where no file can be made, or is one that the work reads, before the work is begun."""
    target = Path(os.path.realpath(os.fsdecode(path)))
    folder = target.parent
    if target.is_dir():
        raise InputError(f"cannot write {os.fsdecode(path)!r}: Is a directory")
    if not folder.is_dir():
        raise InputError(f"cannot write {os.fsdecode(path)!r}: No such file or directory")
    is_device = target.exists() and not target.is_file()  # which takes what comes
    if not is_device and not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {os.fsdecode(path)!r}: Permission denied")
    for source in made_from:
        if source is not None and os.path.exists(source) and target.exists() and os.path.samefile(source, target):
            raise InputError(f"cannot write {os.fsdecode(path)!r}: it would take the place of what it is made from")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that takes the place of `path` if the block ends well, and vanishes if it does not."""
    target = Path(os.path.realpath(os.fsdecode(path)))  # a link stays a link
    if target.exists() and not target.is_file():
        try:
            with target.open("wb") as file:  # a device or pipe takes what comes
                yield file
        except OSError as error:
            raise InputError(f"cannot write {str(target)!r}: {error.strerror}") from None
        return
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_PART)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot write {str(target)!r}: {reason}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _clear_away(target)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise InputError(f"cannot write {str(target)!r}: {error.strerror}") from None
        raise


def _clear_away(target: Path) -> None:
    """Remove what writers of this file left behind that were killed: parts that are ours, old, and locked by nobody."""
    for part in target.parent.glob(f".{glob.escape(target.name)}.*{_PART}"):
        with suppress(OSError):
            about = part.lstat()
            if about.st_uid != os.getuid() or not stat.S_ISREG(about.st_mode) or time.time() - about.st_mtime < _OLD:
                continue
            with part.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
