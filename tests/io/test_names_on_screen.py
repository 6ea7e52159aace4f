"""Names from files, as the command line shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rcpomdp as rc
from rcpomdp.model.labels import Labels


@pytest.mark.parametrize("ending", ["pomdp", "pomdpx"])
def test_names_do_not_steer_the_terminal(run, ending: str, tmp_path: Path) -> None:
    name = "tiger\x1b[2J\x07"
    model = rc.CPOMDP(
        transition=[[[1.0]]], observation=[[[1.0, 0.0]]], reward=[[1.0]], initial_belief=[1.0], discount=0.5,
        observations=["seen", "\x1b[31mred"], name=name,
    )  # fmt: skip
    file, policy = str(tmp_path / f"x.{ending}"), str(tmp_path / "x.rcp")
    rc.save_model(file, model)
    rc.save_policy(policy, rc.policies.blind(model, 0), model)
    for words in (("check", file), ("info", file), ("info", policy)):
        shown = run(*words)
        assert shown.code == 0
        assert r"tiger\x1b[2J\x07" in shown.out
        assert "\x1b[2J" not in shown.out
        assert "\x1b[31m" not in shown.out
    assert json.loads(run("check", file, "--json").out)["name"] == name


@pytest.mark.parametrize("label", ["x" * 199, "s"])
def test_a_hint_is_given_where_it_is_cheap(label: str) -> None:
    names = Labels([f"{label}{i}" for i in range(10_000)], "state")
    with pytest.raises(rc.ModelError) as complaint:
        names.index(f"{label}_7")
    hinted = "did you mean" in str(complaint.value)
    assert hinted == (len(label) == 1)
