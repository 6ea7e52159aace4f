"""Random files mean what they were written to mean, and damaged ones never mean anything else in silence."""

from __future__ import annotations

import io
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import pomdp_reference as reference
from rcpomdp.errors import InputError
from rcpomdp.io.pomdp.reader import read_stream
from rcpomdp.model import CPOMDP

SEEDS = st.integers(0, 2**32 - 1)


def read(data: bytes, *, compiled: bool = False, piece: int = 1 << 16) -> CPOMDP:
    return read_stream(io.BytesIO(data), "FILE", compiled=compiled, piece=piece)


def agrees(model: CPOMDP, meaning: reference.Meaning, exact: bool) -> None:
    """The model is what the file means; numbers of published files are rescaled, others are the same to the bit."""
    tolerance = 0 if exact else 3e-5
    for a in range(model.n_actions):
        np.testing.assert_allclose(model.transition[a].toarray(), meaning.T[a], rtol=0, atol=tolerance)
        np.testing.assert_allclose(model.observation[a].toarray(), meaning.Z[a], rtol=0, atol=tolerance)
    np.testing.assert_allclose(model.initial_belief, meaning.start, rtol=0, atol=tolerance or 1e-15)
    scale = max(1.0, np.abs(meaning.R).max(initial=0), np.abs(meaning.C).max(initial=0))
    np.testing.assert_allclose(model.reward, meaning.mean(meaning.R), rtol=0, atol=(tolerance or 1e-14) * 4 * scale)
    for k in range(model.n_costs):
        expected = meaning.mean(meaning.C[k])
        np.testing.assert_allclose(model.cost[k], expected, rtol=0, atol=(tolerance or 1e-14) * 4 * scale)
    assert model.n_costs == len(meaning.C)
    assert model.discount == meaning.discount
    assert model.budget.tolist() == meaning.budget


@settings(derandomize=True, deadline=None, max_examples=150)
@given(SEEDS)
def test_a_random_file_means_what_was_meant(seed: int) -> None:
    rng = random.Random(seed)
    text, meaning, names = reference.random_file(rng)
    for compiled in (False, True):
        model = read(text.encode(), compiled=compiled, piece=rng.choice([1, 50, 1 << 16]))
        agrees(model, meaning, exact=True)
        for kind in ("states", "actions", "observations"):
            labels = getattr(model, kind)
            assert list(labels) == (names[kind] or [f"{kind[0]}{i}" for i in range(len(labels))])
    agrees(model, reference.read(text), exact=True)  # the second reader is right about good files


def damaged(text: bytes, rng: random.Random) -> bytes:
    """The text with a few bytes or words lost, doubled, swapped or replaced."""
    words = b"T: * : 0 1 0.5 - e uniform reset identity # #! states: \xff \0 \n".split(b" ")
    for _ in range(rng.randint(1, 3)):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        j = min(j, i + rng.choice([1, 5, 40]))
        text = rng.choice([
            text[:i] + text[j:],
            text[:j] + text[i:],
            text[:i] + rng.choice(words) + text[i:],
            text[:i] + rng.choice(words) + text[j:],
            text[:i],
        ])  # fmt: skip
    return text


@settings(derandomize=True, deadline=None, max_examples=500)
@given(SEEDS)
def test_a_damaged_file_is_refused_or_read_for_what_it_says(seed: int) -> None:
    rng = random.Random(seed)
    text = damaged(reference.random_file(rng)[0].encode(), rng)
    outcomes: list[CPOMDP | str] = []
    for compiled in (False, True):
        try:
            outcomes.append(read(text, compiled=compiled))
        except InputError as error:
            outcomes.append(str(error))
    plain, compiled_too = outcomes
    if isinstance(plain, str) or isinstance(compiled_too, str):
        assert plain == compiled_too
        assert str(plain).startswith("FILE")
        assert "\n" not in str(plain)
        return
    assert plain.fingerprint == compiled_too.fingerprint
    agrees(plain, reference.read(text.decode()), exact=False)
