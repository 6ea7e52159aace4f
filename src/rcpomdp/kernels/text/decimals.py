"""Decimal numbers, straight from the bytes of a text.

A decimal with at most 2^53 for its digits and at most 22 for its exponent is one product or quotient of two exact
floats, rounded once (Clinger 1990). All others are "hard": estimated, and left to the caller, who is told where.
"""

from __future__ import annotations

import numpy as np

from ..._types import AnyArray
from ..jit import inner

_EXACT_DIGITS = 1 << 53
_TENS = np.array([10.0**i for i in range(23)])
_MOST_DIGITS = 19  # of a number that fits into 64 bits
_HASH, _PLUS, _MINUS, _DOT, _E, _SMALL_E = b"#+-.Ee"


@inner
def blank(byte: int) -> bool:
    """Return whether a byte separates words."""
    return byte == 32 or 9 <= byte <= 13


@inner
def digit(text: AnyArray, i: int) -> bool:
    """Return whether a digit stands at a position."""
    return i < len(text) and 48 <= text[i] <= 57


@inner
def _sign(text: AnyArray, i: int) -> tuple[int, bool]:
    """The position after a sign, if there is one, and whether it is a minus."""
    if i < len(text) and text[i] in (_PLUS, _MINUS):
        return i + 1, text[i] == _MINUS
    return i, False


@inner
def number(text: AnyArray, begin: int) -> tuple[int, float, bool]:
    """The end of a number, its value, and whether that is but an estimate; the end is -1 if there is no number."""
    i, negative = _sign(text, begin)
    digits, used, left, seen, dot = np.uint64(0), 0, 0, 0, -1
    while digit(text, i) or (dot < 0 and i < len(text) and text[i] == _DOT):
        if text[i] == _DOT:
            dot = seen
        else:
            seen += 1
            if used < _MOST_DIGITS:
                digits = digits * np.uint64(10) + np.uint64(text[i] - 48)
            else:
                left += 1  # digits that are left out
            used += 1 if digits > 0 else 0
        i += 1
    shift = left if dot < 0 else left - (seen - dot)
    i, exponent = _exponent(text, i)
    shift += exponent
    is_whole_word = 0 <= i < len(text) and (blank(text[i]) or text[i] == _HASH)
    hard = left > 0 or bool(digits > np.uint64(_EXACT_DIGITS)) or not -22 <= shift <= 22
    if seen == 0 or not is_whole_word or (digits > 0 and not -280 < shift < 280):
        return -1, 0.0, False
    value = 0.0 if digits == 0 else _scaled(float(digits), shift)
    return i, -value if negative else value, hard and bool(digits > 0)


@inner
def _exponent(text: AnyArray, i: int) -> tuple[int, int]:
    """The position after an exponent, if there is one, and its value; -1 for the position of a broken one."""
    if i >= len(text) or text[i] not in (_E, _SMALL_E):
        return i, 0
    i, negative = _sign(text, i + 1)
    if not digit(text, i):
        return -1, 0
    exponent = 0
    while digit(text, i):
        exponent = min(10 * exponent + (text[i] - 48), 100_000)
        i += 1
    return i, -exponent if negative else exponent


@inner
def _scaled(value: float, power: int) -> float:
    """``value * 10**power``; exact for a whole number up to 2^53 and a power up to 22."""
    while power > 22:
        value *= 1e22
        power -= 22
    while power < -22:
        value /= 1e22
        power += 22
    return value * float(_TENS[power]) if power >= 0 else value / float(_TENS[-power])
