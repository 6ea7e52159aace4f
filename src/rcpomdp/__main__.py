"""``python -m rcpomdp`` is the command line."""

from __future__ import annotations

import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line; an interrupt is one from the first import to the last line, and SIGTERM is one too."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGTERM, interrupt)
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        _end_in_peace()
        print("rcpomdp: stopped before anything was done", file=sys.stderr)
        sys.exit(4)
    finally:
        _end_in_peace()


def _end_in_peace() -> None:
    """Whoever asks again to stop is answered already."""
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, signal.SIG_IGN)


if __name__ == "__main__":
    main()
