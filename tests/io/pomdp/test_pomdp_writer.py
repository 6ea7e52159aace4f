"""What is written is read again as it was, to the last bit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from rcpomdp.errors import InputError, ModelError
from rcpomdp.io.pomdp.reader import read_stream
from rcpomdp.io.pomdp.writer import lines
from strategies import Dense, cpomdps

HUGE = ("crs-11-11", "rs-11-11")  # benchmarks/files.py writes and reads these
PROBLEMS = [name for name in rc.problems.names() if name not in HUGE]


def text_of(model: rc.CPOMDP) -> bytes:
    return "".join(f"{line}\n" for line in lines(model)).encode()


def read(data: bytes, *, compiled: bool = False) -> rc.CPOMDP:
    return read_stream(io.BytesIO(data), "FILE", compiled=compiled)


def same(one: rc.CPOMDP, other: rc.CPOMDP) -> None:
    for field, left, right in zip(one.arrays._fields, one.arrays, other.arrays, strict=True):
        assert np.asarray(left).dtype == np.asarray(right).dtype, field
        assert np.asarray(left).shape == np.asarray(right).shape, field
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes(), field
    for name in ("initial_belief", "budget", "terminal"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    for name in ("states", "actions", "observations", "costs"):
        assert list(getattr(one, name)) == list(getattr(other, name)), name
    assert (one.discount, one.name, one.fingerprint) == (other.discount, other.name, other.fingerprint)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_comes_back(name: str, tmp_path: Path) -> None:
    model = rc.problems.make(name)
    rc.save_model(tmp_path / "model.pomdp", model)
    same(model, rc.load_model(tmp_path / "model.pomdp"))


@pytest.mark.parametrize("name", ["ce", "tiger", "tunnels", "cheese-maze"])
def test_a_file_is_solved_like_its_problem(name: str, tmp_path: Path) -> None:
    model = rc.problems.make(name)
    rc.save_model(tmp_path / "model.pomdp", model)
    options = {"epsilon": 0.5, "time_limit": 60}
    direct, by_file = (rc.solve(m, **options) for m in (model, rc.load_model(tmp_path / "model.pomdp")))
    assert direct.status == by_file.status == "optimal"
    # Where between two looks at the clock a search ends is not the model's doing.
    assert max(direct.lower, by_file.lower) <= min(direct.upper, by_file.upper)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(cpomdps(), st.booleans())
def test_random_models_come_back(case: Dense, compiled: bool) -> None:
    same(case.model, read(text_of(case.model), compiled=compiled))


class Spot(NamedTuple):
    x: int
    y: int


TWO = {
    "transition": [np.eye(2)],
    "observation": [np.full((2, 2), 0.5)],
    "reward": [[1.0], [-0.0]],
    "initial_belief": [0.25, 0.75],
    "discount": 0.5,
}


@pytest.mark.parametrize(
    "labels",
    [
        ["with blank", "é"],
        ["a\nb", '"quoted"'],
        [0, 1],
        ["0", "1"],
        ["uniform", "T"],
        [(1, "good"), (1, "bad")],
        [Spot(1, 2), Spot(2, 1)],
        [((1, 2), None), ((), True)],
        [1.5, -2.0],
        ["s1", "s0"],
        ["#! end: rcpomdp", "# x"],
        ["\udc80", ":"],
        [np.int64(3), np.str_("x")],
        ["end", "start"],
    ],
)
def test_labels_of_every_kind_come_back(labels: list) -> None:
    model = rc.CPOMDP(**TWO, states=labels, observations=labels, cost=np.zeros((2, 2, 1)), costs=labels)
    same(model, read(text_of(model)))


@pytest.mark.parametrize(
    "name", ["", "tiger", " two  words ", '"', "a # b", "line\nbreak", "é", "#! end: rcpomdp", "\\"]
)
def test_the_name_comes_back(name: str) -> None:
    assert read(text_of(rc.CPOMDP(**TWO, name=name))).name == name


@pytest.mark.parametrize("label", [frozenset([1]), b"bytes", float("nan"), 1j, (1, float("inf"))])
def test_labels_that_no_file_holds_are_refused_and_nothing_is_written(label: object, tmp_path: Path) -> None:
    model = rc.CPOMDP(**TWO, states=[label, "b"])
    with pytest.raises(ModelError, match="cannot stand in a file: only text, numbers and tuples of them can"):
        rc.save_model(tmp_path / "model.pomdp", model)
    assert list(tmp_path.iterdir()) == []


def test_numbers_come_back_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**63, 4000, dtype=np.uint64).view(np.float64)
    values = np.concatenate(
        [values[np.isfinite(values)], [5e-324, 1.7976931348623157e308, 2.0**53 + 2, 1e22, 1e23, 0.1]]
    )
    values[::2] *= -1
    n = len(values)
    model = rc.CPOMDP(
        transition=[np.ones((n, 1)) * np.eye(1, n)], observation=[np.ones((n, 1))], reward=values[:, None],
        initial_belief=np.eye(n)[0], discount=0.9,
    )  # fmt: skip
    for compiled in (False, True):
        same(model, read(text_of(model), compiled=compiled))


def test_forms_are_chosen_for_the_reader() -> None:
    text = text_of(rc.problems.make("tiger")).decode()
    written = ["T: listen identity", "T: open-left uniform", "O: listen", "0.85 0.15000000000000002", "start: uniform"]
    written += ["R: listen : * : * : * -1", "#! costs: 1 cost", "#! budget: 3", "#! C[0]: listen : * : * : * 1"]
    for line in written:
        assert line in text.split("\n")


def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    model = rc.problems.make("ce")
    with pytest.raises(InputError, match="No such file or directory"):
        rc.save_model(tmp_path / "none" / "model.pomdp", model)
    with pytest.raises(InputError, match="is no model file"):
        rc.save_model(tmp_path / "model.txt", model)
