"""Compiled reading against Python's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcpomdp.io.pomdp.tokens import number
from rcpomdp.kernels.text.pomdp import Batch, read_numbers

WORDS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"\A[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?\Z"),
    st.text("0123456789+-.eE", max_size=12),
    st.sampled_from(
        ["1e22", "1e23", "9007199254740993", "9007199254740992", "0.1", "1e-22", "00000000000000000000001", "1e-400"]
    ),
)


def run(text: bytes, count: int) -> tuple[int, np.ndarray]:
    """Where the kernel stops, and what it read, the hard ones done as a caller does them."""
    batch = Batch(np.zeros((count, 4), np.int32), np.zeros(count), np.zeros((count, 3), np.int64))
    limits = np.finfo(np.float64)
    end, found, hard = read_numbers(
        np.frombuffer(text, np.uint8), 0, count, float(limits.min), float(limits.max), batch
    )
    for i, begin, after in batch.hard[:hard].tolist():
        estimate, exact = batch.value[i], float(text[begin:after])
        assert abs(estimate - exact) <= 1e-12 * abs(exact)
        batch.value[i] = exact
    return end, batch.value[:found]


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.lists(WORDS.filter(bool), min_size=1, max_size=6))
def test_numbers_are_those_of_python(words: list[str]) -> None:
    """The kernel stops at the first word that is no number, or too large or small for an estimate; never later."""
    _, values = run((" ".join(words) + "\n").encode(), len(words))
    expected = []
    for word in words:
        value = number(word.encode())
        if value is None:
            break
        expected.append(value)
    assert len(values) <= len(expected)
    if len(values) < len(expected):
        assert not 1e-240 < abs(expected[len(values)]) < 1e260
    assert values.tobytes() == np.array(expected[: len(values)], dtype=float).tobytes()


@pytest.mark.parametrize(
    "text", ["1 2 x 3\n", "1 # 5\n 2\n: 3\n", "1 2 3x\n", "1 2\n1.2.3\n", "1 2 1e\n", "1 2 .\n", "1 2 -\n"]
)
def test_what_is_no_number_is_left(text: str) -> None:
    end, values = run(text.encode(), 5)
    assert values.tolist() == [1, 2]
    assert text[:end].endswith("2")


def test_a_number_at_the_very_end_is_left() -> None:
    assert run(b"1 2", 2)[1].tolist() == [1]  # more of it may follow
