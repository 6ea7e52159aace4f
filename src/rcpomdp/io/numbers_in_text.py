"""Numbers in text files: read strictly, written so that they come back bit by bit."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)


def number(word: str) -> float | None:
    """The finite number that a word is, or None; no "nan", no "inf", no "1_000".

    >>> number("-1.5e3"), number("nan"), number("1e999"), number("1_0")
    (-1500.0, None, None, None)
    """
    if not _NUMBER.fullmatch(word):
        return None
    value = float(word)
    return value if math.isfinite(value) else None


def whole(word: str) -> int | None:
    """The whole number of at most 18 digits that a word is, or None.

    >>> whole("12"), whole("-1"), whole("1.0")
    (12, None, None)
    """
    return int(word) if _WHOLE.fullmatch(word) else None
