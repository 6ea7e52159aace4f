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
        print("rcpomdp: stopped before anything was done", file=sys.stderr)
        sys.exit(4)


if __name__ == "__main__":
    main()
