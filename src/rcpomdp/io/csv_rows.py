"""Rows of plain values as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any


def csv_bytes(rows: list[dict[str, Any]]) -> bytes:
    r"""Rows as CSV, the first line naming the columns.

    >>> csv_bytes([{"run": 0, "reward": 1.5}])
    b'run,reward\n0,1.5\n'
    """
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode()
