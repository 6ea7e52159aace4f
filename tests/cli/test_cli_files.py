"""Model files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc

TIGER = str(Path(__file__).parents[1] / "data" / "pomdp" / "tiger.pomdp")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_goes_where_a_name_goes(run, here: Path) -> None:
    assert run("convert", "ce", "ce.pomdp").err == "rcpomdp: model written to ce.pomdp\n"
    by_name, by_file = (json.loads(run("solve", word, "--json").out) for word in ("ce", "ce.pomdp"))
    clock = {"problem": "", "seconds": 0, "setup_seconds": 0}
    assert by_name | clock == by_file | clock
    assert run("solve", "ce.pomdp", "--budget", "6", "--out", "ce.rcp").code == 0
    told = json.loads(run("info", "ce.rcp", "--json").out)
    assert told["problem"] == {"name": "ce.pomdp", "parameters": {}}
    assert json.loads(run("verify", "ce.rcp", "--json").out)["budget"] == [6.0]
    assert run("verify", "ce.rcp", "--problem", "ce").code == 1  # whose budget is 5
    assert run("verify", "ce.rcp", "--problem", "ce", "--budget", "6").code == 0
    simulated = json.loads(run("simulate", "--policy", "ce.rcp", "--runs", "5", "--json").out)
    assert simulated["problem"] == "ce.pomdp"
    blind = run("simulate", "--problem", "ce.pomdp", "--policy", "blind:tunnel-B", "--runs", "5", "--json")
    assert json.loads(blind.out)["reward"]["mean"] == 10


def test_a_file_that_has_changed_is_another_model(run, here: Path) -> None:
    model = rc.problems.make("ce")
    rc.save_model("m.pomdp", model)
    rc.save_policy("m.rcp", rc.policies.blind(model, 0), model, problem={"name": "m.pomdp"})
    rc.save_model("m.pomdp", rc.problems.make("tiger"))
    ran = run("verify", "m.rcp")
    assert (ran.code, ran.out) == (2, "")
    assert "was made for another model, 'ce', or for other parameters of it" in ran.err


def test_info_describes_a_file_as_it_does_a_problem(run, here: Path) -> None:
    rc.save_model("tunnels.pomdp", rc.problems.make("tunnels"))
    by_name, by_file = (json.loads(run("info", word, "--json").out) for word in ("tunnels", "tunnels.pomdp"))
    assert by_file.pop("model_file") == "tunnels.pomdp"
    assert by_file.items() <= by_name.items()
    assert by_file.keys() == by_name.keys() - {"summary", "parameters"}
    assert "tunnels.pomdp" in run("info", "tunnels.pomdp").out


LISTENING = {"name": "listening", "budget": 3.0, "discount": 0.95, "step_limit": None, "largest": 1.0}


def test_check_tells_what_a_file_holds(run, here: Path) -> None:
    told = json.loads(run("check", TIGER, "--json").out)
    assert (told["states"], told["costs"]) == (2, [LISTENING])
    assert told["fingerprint"] == rc.load_model(TIGER).fingerprint
    assert "cost 'listening'" in run("check", TIGER).out
    text = "discount: 0 states: 4 actions: 1 observations: 2 start: 0 T: 0 identity T: 0 : 0 0 1 0 0 O: 0 : * 1 0"
    Path("odd.pomdp").write_text(text)
    told = json.loads(run("check", "odd.pomdp", "--json").out)
    assert (told["unreachable_states"], told["unseen_observations"]) == (2, ["o1"])


def test_check_agrees_with_the_classes_on_what_is_reached(here: Path) -> None:
    from rcpomdp.cli.check import _unreachable

    for name in ("tunnels", "crs-4-4", "tag", "hallway"):
        model = rc.problems.make(name)
        classes = rc.observability_classes(model)
        assert _unreachable(model) == classes.sizes[~classes.reachable].sum()


def test_convert_takes_parameters_and_budgets(run, here: Path) -> None:
    assert run("convert", "tunnels", "t.pomdp", "-p", "p_correct=0.95", "--budget", "inf").code == 0
    made = rc.load_model("t.pomdp")
    assert made.fingerprint == rc.problems.make("tunnels", p_correct=0.95).fingerprint
    assert made.budget.tolist() == [np.inf]
    assert run("convert", "t.pomdp", "t.pomdp", "--budget", "2").code == 0
    assert rc.load_model("t.pomdp").budget.tolist() == [2.0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("check", "none.pomdp"), "model file 'none.pomdp' does not exist"),
        (("solve", "none.pomdp"), "model file 'none.pomdp' does not exist"),
        (("check", "folder.pomdp"), "'folder.pomdp' is not a file"),
        (("check", "tiger"), "'tiger' is no model file: its name ends neither in .pomdp nor in .pomdpx"),
        (("convert", "tiger", "x.txt"), "'x.txt' is no model file: its name ends neither in .pomdp nor in .pomdpx"),
        (("convert", "tiger", "folder.pomdp"), "cannot write 'folder.pomdp': Is a directory"),
        (("convert", "tiger", "none/x.pomdp"), "cannot write 'none/x.pomdp': No such file or directory"),
        (("convert", "tigre", "x.pomdp"), "unknown problem 'tigre'; did you mean 'tiger'?"),
        (
            ("solve", TIGER, "-p", "discount=0.5"),
            f"model file {TIGER!r} takes no parameter 'discount', only added_costs, cost_discount, step_limit, horizon",
        ),
        (
            ("info", TIGER, "-p", "discount=0.5"),
            f"model file {TIGER!r} takes no parameter 'discount', only added_costs, cost_discount, step_limit, horizon",
        ),
        (("solve", TIGER, "-p", "horizon=3", "--horizon", "4"), "parameter 'horizon' is given twice"),
        (("solve", TIGER, "--budget", "1", "--budget", "2"), "budget has length 2, but the model has 1 cost"),
        (("check", "bad.pomdp"), "'bad.pomdp', line 1, column 9: a model needs at least one state (in 'states: 0')"),
    ],
)
def test_bad_words_get_one_sentence(run, here: Path, words: tuple[str, ...], sentence: str) -> None:
    (here / "folder.pomdp").mkdir()
    (here / "bad.pomdp").write_text("states: 0\n")
    ran = run(*words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"rcpomdp: {sentence}\n")
    assert sorted(path.name for path in here.iterdir()) == ["bad.pomdp", "folder.pomdp"]


def test_how_costs_count_is_told_and_a_horizon_is_replaced_aloud(run, here: Path) -> None:
    kind = ("-p", "cost_discount=1", "-p", "step_limit=1", "-p", "horizon=4")
    assert run("convert", "tiger", "t.pomdp", *kind).code == 0
    told = run("solve", "t.pomdp", "--json")
    facts = json.loads(told.out)
    assert (facts["budget"], facts["cost_discount"], facts["step_limit"]) == ([3.0], [1.0], [1.0])
    assert (facts["model_horizon"], told.err) == (4, "")
    other = run("solve", "t.pomdp", "--horizon", "2")
    assert other.err == "rcpomdp: the horizon of model file 't.pomdp' is 4, and 2 takes its place\n"
    assert [line.split() for line in other.out.splitlines()][-3:] == [
        ["cost", "discount", "1"],
        ["step", "limit", "1"],
        ["model", "horizon", "2"],
    ]
    plain = json.loads(run("solve", "ce", "--json").out)
    assert plain["cost_discount"] is plain["step_limit"] is plain["model_horizon"] is None


def test_a_cost_without_end_is_told(run, here: Path) -> None:
    told = run("solve", "tiger", "--solver", "sarsop", "-p", "cost_discount=1")
    assert told.err == (
        "rcpomdp: cost is infinite, shown as '-': it is not discounted, and the policy spends it for ever: "
        "sarsop does not look at budgets\n"
    )


def test_long_lists_are_folded_in_tables_alone(run, tmp_path: Path) -> None:
    path = tmp_path / "many.pomdp"
    rc.save_model(path, rc.problems.make("patrol"))
    table, told = run("check", str(path)).out, json.loads(run("check", str(path), "--json").out)
    assert "… (48 in all)" in table
    assert len(told["observations"]) == 48


def test_render_takes_a_policy_file_as_its_siblings_do(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = rc.problems.make("ce")
    rc.save_policy("p.rcp", rc.policies.blind(model, "tunnel-B"), model)
    assert run("render", "p.rcp").out.startswith("p.gif: 1 step of ce by p.rcp")
    assert Path("p.gif").exists()
    rc.save_model("ce.pomdp", model)
    assert run("render", "p.rcp", "--problem", "ce.pomdp", "--out", "q.png").code == 0
    for words, said in (
        (("render",), "there is no policy to render; give a policy file, or --policy"),
        (("render", "ce", "--policy", "random"), "policy 'random' is no file that the picture could be put beside"),
        (("render", "ce", "--policy", "p.rcp", "--problem", "ce"), "the problem is given twice"),
    ):
        ran = run(*words)
        assert ran.code == 2
        assert said in ran.err


def test_names_are_completed() -> None:
    from rcpomdp.cli import common

    assert common.complete_problem("tu") == ["tunnels"]
    assert common.complete_solver("cg") == ["cgcp", "cgcp-cl"]
    assert common.complete_suite("paper")[:2] == ["paper", "paper-main"]


def test_a_proof_that_is_not_written_is_told_of(run, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rcpomdp.solvers.proofs import write

    def out_of_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(write, "prove", out_of_memory)
    ran = run("solve", "ce", "--proof", "ce.rcproof", "--json")
    assert ran.code == 4
    assert json.loads(ran.out)["proof"] is None
    assert "no proof is written: the solve ended (memory limit) before there was a bound to prove" in ran.err
    assert not Path("ce.rcproof").exists()


LISTEN = "discount: {} states: 2 actions: 2 observations: 2 T: * identity O: * uniform R: 1 : 0 : * : * 9 "


def test_check_says_that_a_discount_of_1_needs_a_horizon(run, here: Path) -> None:
    Path("endless.pomdp").write_text(LISTEN.format(1))
    ran = run("check", "endless.pomdp")
    assert ran.code == 0
    assert "discount 1 needs a horizon" in ran.err
    assert "horizon" not in run("check", TIGER).err


def test_costs_without_any_budget_are_asked_about(run, here: Path) -> None:
    Path("free.pomdp").write_text(LISTEN.format(0.9))
    words = ("solve", "free.pomdp", "--cost", "energy: a1 : * 1")
    assert "cost 'energy' has no budget, so that nothing is limited: --budget energy=... sets one" in run(*words).err
    assert "has no budget" not in run(*words, "--budget", "3").err
    assert "has no budget" not in run(*words, "--solver", "sarsop").err  # it looks at none


def test_runs_of_a_model_without_budgets_violate_none(run, here: Path) -> None:
    Path("free.pomdp").write_text(LISTEN.format(0.99))
    ran = run("simulate", "--problem", "free.pomdp", "--policy", "blind:a1", "--steps", "3", "--runs", "5")
    assert "--steps goes further" in ran.err
    assert "violate" not in ran.err


def test_a_truncation_without_a_bound_is_told_in_words(run, here: Path) -> None:
    Path("free.pomdp").write_text(LISTEN.format(0.9))
    added = ("--cost", "energy: a1 : * 1", "-p", "cost_discount=1", "--budget", "3")
    assert run("convert", "free.pomdp", "battery.pomdp", *added).code == 0
    ran = run("simulate", "--problem", "battery.pomdp", "--policy", "blind:a1", "--steps", "3", "--runs", "5")
    assert next(line for line in ran.out.splitlines() if line.startswith(" energy ")).split()[-3:] == [
        "no",
        "bound",
        "3",
    ]
