"""Malformed `.pomdp` files: each is refused with one sentence, the one that tests/data/pomdp/malformed.txt says."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from rcpomdp.errors import ModelFileError
from rcpomdp.io import load_model
from rcpomdp.io.pomdp.reader import read_stream

DATA = Path(__file__).parents[2] / "data" / "pomdp"
HEADER = "discount: 0.9\nstates: left right\nactions: go wait\nobservations: see hear\n"
MODEL = f"{HEADER}T: * identity\nO: * uniform\n"


def cases() -> list[tuple[str, str]]:
    """The file's text and sentence of each case."""
    _, *parts = re.split(r"^---- ", (DATA / "malformed.txt").read_text(), flags=re.MULTILINE)
    found = []
    for part in parts:
        sentence, _, text = part.partition("\n")
        text = text.replace("HEADER\n", HEADER).replace("MODEL\n", MODEL).replace("\\\n", "")
        found.append((text, sentence))
    return found


def read(data: bytes, *, compiled: bool = False) -> None:
    read_stream(io.BytesIO(data), "FILE", compiled=compiled)


@pytest.mark.parametrize(("text", "sentence"), cases())
def test_what_is_wrong_is_said_in_one_sentence(text: str, sentence: str) -> None:
    for compiled in (False, True):
        with pytest.raises(ModelFileError) as error:
            read(text.encode(), compiled=compiled)
        assert str(error.value) == sentence


@pytest.mark.parametrize("piece", [7, 8, 9, 1 << 22])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("compiled", [False, True])
def test_lines_may_end_with_a_carriage_return(end: str, piece: int, compiled: bool) -> None:
    """What follows a comment is not part of it, and lines are counted alike."""
    text = (
        f"# a comment\n{MODEL}# another\nR: go : * : * : * 3\n\n#! costs: 1\n#! budget: 2\n#! C[0]: * : * : * : * 1\n"
    )
    data = text.replace("\n", end).encode()
    model = read_stream(io.BytesIO(data), "FILE", compiled=compiled, piece=piece)
    assert model.reward.tolist() == [[3, 0], [3, 0]]
    assert (model.cost.tolist(), model.budget.tolist()) == ([[[1, 1], [1, 1]]], [2])
    with pytest.raises(ModelFileError, match="^FILE, line 15, column 1: a statement should begin here, found 'X'"):
        read_stream(io.BytesIO(data + f"{end}X".encode()), "FILE", compiled=compiled, piece=piece)


def test_there_are_enough_of_them() -> None:
    assert len(cases()) > 120
    assert len({sentence for _, sentence in cases()}) > 110


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (MODEL.encode() + b"\xff", "FILE, line 7: the text is not UTF-8"),
        (b"discount: 0.9\n\0\xff", "FILE, line 2: a NUL byte; the file is not text"),
        (b"\xff\0", "FILE, line 1: the text is not UTF-8"),
        (b"\0" * 5_000_000, "FILE, line 1: a NUL byte; the file is not text"),
        ("# é\nstates: é ü é\n".encode(), "FILE, line 2, column 13: state 'é' is declared twice (in 'states: é ü é')"),
        (b"\xef\xbb\xbfdisount: 1\n", "FILE, line 1, column 4: a statement should begin here, found 'disount'; "
         "did you mean 'discount'? (in 'disount: 1')"),
        (b"states: \x1b[31m 0a\n", r"FILE, line 1, column 15: '0a' is not a name: names do not begin like numbers "
         r"(in 'states: \x1b[31m 0a')"),
        (b"states: " + b"x" * 1001, "FILE, line 1, column 9: a word of 1,001 characters is longer than any name or "
         f"number (in 'states: {'x' * 64}...')"),
        (b"discount: 0." + b"9" * 2000, "FILE, line 1, column 11: a word of 2,002 characters is longer than any name "
         f"or number (in 'discount: 0.{'9' * 60}...')"),
        (MODEL.encode() + b"#! states: " + b"[" * 100_000, "FILE, line 7, column 12: labels of states are nested too "
         f"deeply (in '#! states: {'[' * 61}...')"),
        (MODEL.encode() + b"#! states: [" + b"9" * 5000 + b", 1]", "FILE, line 7, column 12: labels of states must be "
         f"JSON: a number has too many digits (in '#! states: [{'9' * 60}...')"),
    ],
)  # fmt: skip
def test_what_is_no_text_or_goes_on_and_on(data: bytes, sentence: str) -> None:
    with pytest.raises(ModelFileError) as error:
        read(data)
    assert str(error.value) == sentence


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.pomdp").mkdir()
    for name, sentence in (
        ("none.pomdp", "model file {} does not exist"),
        ("folder.pomdp", "{} is not a file"),
        ("x.txt", "{} is no model file: its name ends neither in .pomdp nor in .pomdpx"),
        ("a\0b.pomdp", "model file {} does not exist"),
    ):
        with pytest.raises(ModelFileError) as error:
            load_model(tmp_path / name)
        assert str(error.value) == sentence.format(repr(str(tmp_path / name)))


@pytest.mark.parametrize("name", ["tiger", "every-form"])
def test_a_file_cut_short_is_refused_or_is_another_whole_one(name: str) -> None:
    """Ours are refused wherever they are cut: only what follows the mark of the end may be lost."""
    data = (DATA / f"{name}.pomdp").read_bytes()
    for end in range(len(data)):
        try:
            read(data[:end])
        except ModelFileError:
            continue
        assert name == "tiger" or data[:end].rstrip().endswith(b"#! end: rcpomdp")


def test_small_files_that_claim_much_are_refused_at_once() -> None:
    """Nothing of the size that is claimed is ever made."""
    claims = [
        "discount: 0.9\nstates: 8000000\nactions: 1\nobservations: 1\nT: 0 uniform\n",
        "discount: 0.9\nstates: 8000000\nactions: 1\nobservations: 1\nT: * : * : * 0.5\n",
        "discount: 0.9\nstates: 100000\nactions: 60\nobservations: 8000000\nO: * : * : * 0.5\n",
    ]
    for text in claims:
        with pytest.raises(ModelFileError, match="has more than 268,435,456 entries"):
            read(text.encode())
