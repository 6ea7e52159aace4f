"""Processes: workers that do not outlive their parent, and telling one process from another, also when it is gone."""

from __future__ import annotations

import os
import platform
import signal
import threading
import time
from functools import cache
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = "/proc/self/ns/pid"


def serve(parent: int) -> None:
    """Make this process a worker of its parent: it leaves Ctrl-C to it, and ends when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent answers it
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """A worker whose parent was killed would wait for work for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@cache
def host() -> str:
    """The machine since it was started, as far as process numbers reach: containers have their own."""
    try:
        return f"{platform.node()} {_BOOT.read_text().strip()} {os.readlink(_NAMESPACE)}"
    except OSError:  # no Linux
        return platform.node()


def started(pid: int) -> str:
    """The time at which a process began, in clock ticks since the start of the machine; empty if that cannot be known.

    A number alone may be another process's by now.
    """
    stat = _stat(pid)
    return stat[19] if len(stat) > 19 else ""


def is_gone(pid: int, began: str) -> bool:
    """True if a process of this machine has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's
        pass
    stat = _stat(pid)
    return bool(began and stat) and (stat[19] != began or stat[0] in ("Z", "X"))  # ended, and not yet buried


def _stat(pid: int) -> list[str]:
    """The kernel's facts of a process, from its state on; none where it tells nothing."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        )  # the name, in brackets, may hold spaces
    except OSError:
        return []
