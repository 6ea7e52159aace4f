"""Controllers in C and JSON do what they do in Python, whatever their labels are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc
from rcpomdp.io import CONTROLLER_SCHEMA, controller_c, controller_json
from rcpomdp.policies import ControllerPolicy, blind

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
HOSTILE = ["*/ int x; /*", 'a"; system("x"); "', "\\", "??/", "new\nline", "\x1b[31m", "é\0ü", "%s%n", "// \\"]


def made(n: int, seed: int, labels: list[str] | None = None) -> tuple[rc.CPOMDP, ControllerPolicy]:
    """A model in which anything may be observed at any time, and a random controller."""
    rng = np.random.default_rng(seed)
    n_observations = len(labels or range(7))
    model = rc.CPOMDP(
        transition=np.ones((4, 1, 1)),
        observation=np.full((4, 1, n_observations), 1 / n_observations),
        reward=np.zeros((1, 4)),
        initial_belief=[1.0],
        discount=0.9,
        actions=None if labels is None else labels[:4],
        observations=labels,
        name="any" if labels is None else labels[0],
    )
    actions, successors = rng.integers(0, 4, n), rng.integers(0, n, (n, n_observations))
    return model, ControllerPolicy(model, actions, successors, int(rng.integers(n)))


def compiled(source: str, folder: Path) -> Path:
    (folder / "controller.h").write_text(source, encoding="ascii")
    (folder / "main.c").write_text('#define CONTROLLER_MAIN\n#include "controller.h"\n')
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-const-variable"]
    subprocess.run([str(COMPILER), *flags, "-o", "run", "main.c"], cwd=folder, check=True)
    return folder / "run"


@needs_compiler
@pytest.mark.parametrize("n", [1, 40, 300])
def test_c_does_what_python_does(n: int, tmp_path: Path) -> None:
    """10,000 random sequences of observations, the next beginning where one ends."""
    model, policy = made(n, seed=n)
    program = compiled(controller_c(policy, model), tmp_path)
    rng = np.random.default_rng(0)
    words, expected = [], [policy.action(policy.start)]
    for _ in range(10_000):
        node = policy.start
        for o in rng.integers(0, model.n_observations, int(rng.integers(0, 12))).tolist():
            node = policy.update(node, o)
            words.append(o)
            expected.append(policy.action(node))
        words.append(-1)
        expected.append(policy.action(policy.start))
    ran = subprocess.run([program], input=" ".join(map(str, words)), capture_output=True, text=True, check=True)
    assert [int(word) for word in ran.stdout.split()] == expected


@needs_compiler
def test_c_refuses_what_cannot_be_observed(tmp_path: Path) -> None:
    program = compiled(controller_c(*made(5, seed=1)[::-1]), tmp_path)
    for word in ("7", "-2", "99999999"):
        ran = subprocess.run([program], input=word, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (2, f"there is no observation {word}\n")


@needs_compiler
def test_hostile_labels_stay_text(tmp_path: Path) -> None:
    model, policy = made(3, seed=2, labels=HOSTILE)
    source = controller_c(policy, model)
    assert not re.search(r"[^\n\x20-\x7e]", source)
    assert "??" not in source
    assert len(re.findall(r"\*/", re.sub(r'"(\\.|[^"\\])*"', "", source))) == source.count("/* ")
    (tmp_path / "names.c").write_text(
        '#include <stdio.h>\n#include "controller.h"\n'
        "int main(void) { for (int i = 0; i < CONTROLLER_OBSERVATIONS; i++)"
        " puts(controller_observation_names[i]); puts(controller_name); return (int)controller_step(0, 0) * 0; }"
    )
    compiled(source, tmp_path)
    subprocess.run([str(COMPILER), "-std=c99", "-trigraphs", "-o", "names", "names.c"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "names"], capture_output=True, check=True).stdout.decode()
    assert told == "".join(f"{label.partition(chr(0))[0]}\n" for label in [*HOSTILE, HOSTILE[0]])  # C ends text at 0


def fits(value: object, schema: dict) -> bool:
    """As much of JSON Schema as the controller's schema uses."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int}
    if "const" in schema:
        return value == schema["const"]
    if type(value) is not kinds[schema["type"]]:
        return False
    if isinstance(value, dict):
        known = schema["properties"]
        return value.keys() == known.keys() == set(schema["required"]) and all(fits(value[k], known[k]) for k in known)
    if isinstance(value, list):
        return len(value) >= schema["minItems"] and all(fits(item, schema["items"]) for item in value)
    return not isinstance(value, int) or value >= schema["minimum"]


@pytest.mark.parametrize("labels", [None, HOSTILE])
def test_json_is_what_the_schema_says(labels: list[str] | None) -> None:
    model, policy = made(6, seed=3, labels=labels)
    told = json.loads(controller_json(policy, model))
    assert fits(told, CONTROLLER_SCHEMA)
    assert not fits({**told, "start": -1}, CONTROLLER_SCHEMA)
    assert told["observations"] == [str(o) for o in model.observations]
    again = ControllerPolicy(model, told["node_action"], told["node_next"], told["start"])
    assert np.array_equal(again.successors, policy.successors)


def test_policies_that_need_beliefs_are_refused() -> None:
    model = rc.problems.make("tiger")
    for policy in (rc.policies.fib(model), rc.policies.RandomPolicy(model)):
        for write in (controller_c, controller_json):
            with pytest.raises(rc.PolicyError, match="^only controllers can be exported, not "):
                write(policy, model)
    with pytest.raises(rc.PolicyError, match="other actions or observations"):
        controller_c(blind(rc.problems.make("crs-4-4"), 7), model)


def test_the_command(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    model = rc.problems.make("tiger")
    path, out = str(tmp_path / "policy.rcp"), tmp_path / "policy.h"
    rc.save_policy(path, blind(model, "listen"), model, problem={"name": "tiger", "parameters": {}})
    code, printed, _ = run("export", path)
    assert (code, printed) == (0, controller_c(blind(model, "listen"), model))
    code, printed, err = run("export", path, "--out", str(out))
    assert (code, printed, err) == (0, "", f"rcpomdp: controller written to {out}\n")
    assert out.read_text() == controller_c(blind(model, "listen"), model)
    assert json.loads(run("export", path, "--format", "json")[1])["start"] == 0
    assert run("export", path, "--format", "dot")[1].startswith('digraph "tiger" {')
    assert run("export", path, "--format", "rust")[0] == 2
    rc.save_policy(path, rc.policies.fib(model), model, problem={"name": "tiger", "parameters": {}})
    code, printed, err = run("export", path)
    assert (code, printed) == (2, "")
    assert "only controllers can be exported, not AlphaPolicy" in err
    assert "run it in Python by rc.load_policy" in err
