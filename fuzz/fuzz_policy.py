"""Fuzz the readers of ``.policy``, ``.alpha``, ``.pg`` and ``.rcp`` files: a clean error or a policy, nothing else.

    pip install atheris
    mkdir -p corpus/policy && python fuzz/fuzz_policy.py --seeds corpus/policy
    python fuzz/fuzz_policy.py -max_total_time=600 -max_len=4096 corpus/policy

The first byte of an input says which reader it is for; `--seeds` writes one good input for each. An ``.rcp`` file comes
in two ways: as its bytes, where checksums stop most changes, and as the entries of the archive, packed here.
A policy of another program that is read is written and read again, and must come back the same.
"""

from __future__ import annotations

import io
import os
import random
import sys
import tempfile
import warnings
import zipfile

import atheris
import numpy as np

with atheris.instrument_imports(include=["rcpomdp.io", "zipfile"]):
    import rcpomdp as rc
    from rcpomdp.io.policy.file import load_policy, policy_info, save_policy
    from rcpomdp.io.policy.foreign import read_policy, write_policy

warnings.simplefilter("error")
warnings.filterwarnings("ignore", "Duplicate name")  # zipfile's, of our own packing
MODEL = rc.problems.make("tiger")
FOLDER = tempfile.mkdtemp()
KINDS = (".policy", ".alpha", ".pg", ".rcp", "packed")
BETWEEN = b"\n--8<--\n"  # the entries of a packed archive, each its name, a line's end and its content
WORDS = [
    *(
        "-",
        "X",
        "0",
        "1",
        "2",
        "3",
        "-1",
        "1e999",
        "nan",
        "-0.0",
        "0.5",
        "99999999999999999999",
        "\n",
        " ",
        "null",
        "true",
    ),
    *('<Vector action="0" obsValue="0">1 2</Vector>', '<SparseVector action="1"><Entry>0 1.5</Entry></SparseVector>'),
    *(
        'obsValue="1"',
        'numObsValue="2"',
        'numVectors="1"',
        'vectorLength="2"',
        "<!DOCTYPE x>",
        "&x;",
        "<Entry>1 1</Entry>",
    ),
    *('"kind": "mixture"', '"kind": "controller"', '"kind": "random"', '"policies": [{"kind": "random"}]', "[]", "{}"),
    *('"weights": 0', '"vectors": 1', '"actions": 1', '"start": 0', '"mixed": true', '"budget": 0', "(1, 2)", "'<i8'"),
]


def path(kind: str) -> str:
    """Where an input of a kind is put."""
    return os.path.join(FOLDER, "in.rcp" if kind == "packed" else f"in{kind}")


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Change words as often as bytes."""
    rng = random.Random(seed)
    if rng.random() < 0.5 or len(data) < 2:
        return atheris.Mutate(data, max_size)
    text = data[1:].decode("latin-1")
    i = rng.randrange(len(text) + 1)
    j = min(len(text), i + rng.choice((0, 1, 3, 10, 40)))
    piece = rng.choice(WORDS)
    if rng.random() < 0.4:
        k = rng.randrange(len(text))
        piece = text[k : k + rng.choice((3, 10, 60))]
    return (data[:1] + (text[:i] + piece + text[j:]).encode("latin-1"))[:max_size]


def pack(data: bytes) -> bytes:
    """An archive of entries, its checksums right."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for entry in data.split(BETWEEN):
            name, _, body = entry.partition(b"\n")
            archive.writestr(
                zipfile.ZipInfo(name.decode("latin-1").replace("\0", "") or "x", (1980, 1, 1, 0, 0, 0)), body
            )
    return content.getvalue()


def one_input(data: bytes) -> None:
    """Read one file."""
    if not data:
        return
    kind = KINDS[data[0] % len(KINDS)]
    with open(path(kind), "wb") as file:
        file.write(pack(data[1:]) if kind == "packed" else data[1:])
    if kind in (".rcp", "packed"):
        for read in (policy_info, lambda name: load_policy(name, MODEL)):
            attempt(read, path(kind))
        return
    if kind == ".pg" and os.path.exists(path(".alpha")):
        os.unlink(path(".alpha"))  # it would say where to start
    policy = attempt(lambda name: read_policy(name, MODEL), path(kind))
    if policy is not None:
        again = os.path.join(FOLDER, f"again{kind}")
        write_policy(again, policy, MODEL)
        if kind == ".pg" and os.path.exists(os.path.join(FOLDER, "again.alpha")):
            os.unlink(os.path.join(FOLDER, "again.alpha"))
        other = read_policy(again, MODEL)
        assert (other.actions == policy.actions).all()
        arrays = (other.successors, policy.successors) if kind == ".pg" else (other.vectors, policy.vectors)
        assert np.array_equal(*arrays)


def attempt(read, name: str):
    """What a reader makes of a file; None if it complains as it should."""
    try:
        return read(name)
    except rc.InputError as error:
        if not str(error) or "\n" in str(error):
            raise AssertionError(f"not one sentence: {error}") from error
        return None


def seeds(folder: str) -> None:
    """One good input of each kind."""
    alpha = rc.policies.AlphaPolicy(MODEL, [[0, 0], [-10, 1], [1, -10]], [0, 1, 2])
    controller = rc.policies.ControllerPolicy(MODEL, [0, 2], [[1, 0], [0, 0]])
    for i, kind in enumerate(KINDS):
        if kind in (".rcp", "packed"):
            both = rc.policies.MixturePolicy([alpha, controller], [0.5, 0.5])
            save_policy(path(kind), both, MODEL, {"reward": 1.0}, {"name": "tiger", "parameters": {}})
        else:
            write_policy(path(kind), controller if kind == ".pg" else alpha, MODEL)
        with open(path(kind), "rb") as file:
            content = file.read()
        if kind == "packed":
            with zipfile.ZipFile(path(kind)) as archive:
                content = BETWEEN.join(name.encode() + b"\n" + archive.read(name) for name in archive.namelist())
        with open(os.path.join(folder, f"seed-{kind.removeprefix('.')}"), "wb") as file:
            file.write(bytes([i]) + content)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--seeds"]:
        seeds(sys.argv[2])
    else:
        atheris.Setup(sys.argv, one_input, custom_mutator=mutate)
        atheris.Fuzz()
