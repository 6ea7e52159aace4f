"""Fuzz the reader of ``.pomdpx`` files: a clean error or a model, nothing else.

    pip install atheris
    python fuzz/fuzz_pomdpx.py -max_total_time=600 -max_len=8192 corpus/pomdpx tests/data/pomdpx/good

The first folder, which must exist, keeps what is found on the way. A model that is read is written and read again, and
must come back the same.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import warnings

import atheris

with atheris.instrument_imports(include=["rcpomdp.io", "xml"]):
    import rcpomdp as rc
    from rcpomdp.io.pomdpx import reader as pomdpx_reader
    from rcpomdp.io.pomdpx import tables as pomdpx_tables
    from rcpomdp.io.pomdpx.reader import read_pomdpx
    from rcpomdp.io.pomdpx.writer import write_pomdpx

warnings.simplefilter("error")
# Small limits, so that no time is spent on models that are merely large.
pomdpx_reader.MOST_STATES, pomdpx_reader.MOST_ROWS, pomdpx_tables.MOST_CELLS = 2000, 4000, 20_000

FOLDER = tempfile.mkdtemp()
PATH, AGAIN = os.path.join(FOLDER, "in.pomdpx"), os.path.join(FOLDER, "out.pomdpx")
WORDS = [
    *("uniform", "identity", "null", "-", "*", "* -", "- -", "s0", "s1", "o0", "a0", "true", "false", "TBL", "DD"),
    *("0.5", "1.0", "1e-5", "-0.0", "1e999", "nan", "99999999999", "<Parent>null</Parent>", "<NumValues>2</NumValues>"),
    *("<Entry><Instance>* -</Instance><ProbTable>uniform</ProbTable></Entry>", '<?rcpomdp {"version": 1}?>'),
    *('<?rcpomdp {"version": 1, "costs": ["c"], "budget": [1.0]}?>', "<?rcpomdp-cost 0 0 0 1.0?>", "<?rcpomdp-end?>"),
    *(
        '<StateVar vnamePrev="p" vnameCurr="q"><NumValues>2</NumValues></StateVar>',
        "&lt;",
        "<!DOCTYPE x>",
        ' fullyObs="true"',
    ),
]


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Mostly change words, so that much of what comes out is still XML."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        return atheris.Mutate(data, max_size)
    text = data.decode(errors="replace")
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(text) + 1)
        j = min(len(text), i + rng.choice((0, 0, 1, 3, 10, 60)))
        piece = rng.choice(WORDS)
        if rng.random() < 0.4 and text:
            k = rng.randrange(len(text))
            piece = text[k : k + rng.choice((5, 20, 120))]
        text = text[:i] + piece + text[j:]
    return text.encode()[:max_size]


def one_input(data: bytes) -> None:
    """Read one file."""
    with open(PATH, "wb") as file:
        file.write(data)
    try:
        model = read_pomdpx(PATH)
    except rc.InputError as error:
        if not str(error) or "\n" in str(error):
            raise AssertionError(f"not one sentence: {error}") from error
        return
    write_pomdpx(AGAIN, model)
    again = read_pomdpx(AGAIN)
    assert again.fingerprint == model.fingerprint
    assert (again.budget == model.budget).all()
    assert again.name == model.name


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input, custom_mutator=mutate)
    atheris.Fuzz()
