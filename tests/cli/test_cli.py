"""The command line: what it prints where, exit codes, interrupts, and that nothing is compiled twice."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc
from policy_files import npy, rewritten
from rcpomdp.cli import printing
from rcpomdp.solvers import SOLVERS, Result, TracePoint

COMMAND = [sys.executable, "-m", "rcpomdp"]


def test_problems_lists_every_name_with_its_sizes(run) -> None:
    listed = json.loads(run("problems", "--json").out)
    assert [row["name"] for row in listed] == rc.problems.names()
    tunnels = next(row for row in listed if row["name"] == "tunnels")
    assert (tunnels["states"], tunnels["actions"], tunnels["observations"]) == (53, 3, 5)
    assert (tunnels["discount"], tunnels["budget"]) == (0.99, 1.0)
    table = run("problems").out
    assert all(row["name"] in table for row in listed)
    assert "247,809" in table


def test_a_narrow_window_cuts_the_descriptions_alone(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "PIPE_WIDTH", 80)
    lines = run("problems").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == rc.problems.names()
    assert max(map(len, lines)) <= 80
    assert any("…" in line for line in lines)


def test_unlimited_budgets_are_null_in_json(run) -> None:
    told = json.loads(run("info", "ce", "-p", "budget=inf", "--json").out)
    assert told["parameters"]["budget"] is told["costs"][0]["budget"] is None
    assert "unlimited" in run("info", "ce", "-p", "budget=none").out


def test_a_short_horizon_is_remarked_on(run) -> None:
    ran = run("simulate", "--problem", "crs-7-8", "--policy", "blind:north", "--runs", "2", "--json")
    assert "could still add 71.6972, and violate later; --steps goes further" in ran.err
    assert json.loads(ran.out)["reward"]["truncation"] == pytest.approx(0.95**20 * 10 / 0.05)


def test_an_ascii_terminal_is_no_failure() -> None:
    words = ["simulate", "--problem", "ce", "--policy", "random", "--runs", "5"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "? s.e." in done.stdout


def test_info_tells_parameters_structure_and_fingerprint(run) -> None:
    told = json.loads(run("info", "tunnels", "-p", "p_correct=0.95", "--json").out)
    assert told["states"] == 53
    assert told["observability_classes"] == 14
    assert told["parameters"]["p_correct"] == 0.95
    assert told["fingerprint"] == rc.problems.make("tunnels", p_correct=0.95).fingerprint
    assert "fingerprint" in run("info", "tunnels").out
    assert run("info", "rs-5-7").code == 0  # no costs


def test_simulate_prints_what_the_library_returns(run, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    words = ["simulate", "--problem", "ce", "--policy", "blind:tunnel-A", "--runs", "300", "--seed", "7"]
    told = json.loads(run(*words, "--json", "--rows", str(rows)).out)
    model = rc.problems.make("ce")
    result = rc.simulate(model, rc.policies.blind(model, "tunnel-A"), runs=300, seed=7)
    assert told == {"problem": "ce", "policy": "blind:tunnel-A", **result.summary()}
    with rows.open() as file:
        read = list(csv.DictReader(file))
    assert [float(row["reward"]) for row in read] == result.outcome.reward.tolist()
    table = run(*words).out
    assert "violation rate" in table
    assert "seed 7" in table


def test_simulate_tells_what_was_deliberate(run) -> None:
    words = ["simulate", "--problem", "ce", "--policy", "blind:tunnel-A", "--runs", "100"]
    told = json.loads(run(*words, "--deliberate", "--json").out)
    assert told["deliberate"]["rate"] == told["violation_rate"]
    assert "replanning" not in told
    assert json.loads(run(*words, "--json").out)["deliberate"] is None
    table = run(*words, "--deliberate").out
    assert "deliberate rate" in table
    assert table.splitlines()[-1].startswith("runs that overspend deliberately do so at step 1 on average")


def test_simulate_plans_anew_where_a_run_overspends(run) -> None:
    words = ["simulate", "--problem", "ce", "--runs", "60", "--replan-seconds", "5", "--policy"]
    told = json.loads(run(*words, "blind:tunnel-A", "--json").out)["replanning"]
    assert told["collected"]["mean"] == pytest.approx(12, abs=1e-3)
    assert told["lower"]["mean"] == pytest.approx(0, abs=1e-3)
    assert "an admissible plan with what is left" in run(*words, "blind:tunnel-A").out
    assert json.loads(run(*words, "blind:tunnel-B", "--json").out)["replanning"] is None
    assert "nothing to plan anew" in run(*words, "blind:tunnel-B").out


def test_simulate_takes_a_policy_file(run, tmp_path: Path) -> None:
    model = rc.problems.make("tiger")
    path = tmp_path / "fib.rcp"
    rc.save_policy(path, rc.policies.fib(model), model)
    by_file = json.loads(run("simulate", "--problem", "tiger", "--policy", str(path), "--json").out)
    by_name = json.loads(run("simulate", "--problem", "tiger", "--policy", "fib", "--json").out)
    assert by_file | {"policy": ""} == by_name | {"policy": ""}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["info", "tigre"], "unknown problem 'tigre'; did you mean 'tiger'?"),
        (["info", "tiger", "-p", "accuracy"], "parameter 'accuracy' is not of the form key=value"),
        (
            ["info", "tiger", "-p", "acuracy=1"],
            "problem 'tiger' has no parameter 'acuracy'; did you mean 'accuracy'?",
        ),
        (
            ["info", "tiger", "-p", "accuracy=x"],
            "parameter 'accuracy' of problem 'tiger' must be a number, not 'x'",
        ),
        (["info", "tiger", "-p", "discount=2"], "discount is 2.0, outside [0, 1]"),
        (["info", "tiger", "-p", "budget=-1"], "budget of 'cost' is -1, below 0"),
        (["info", "rs-5-7", "-p", "budget=2"], "budget is 2, but without costs it must be None"),
        (
            ["solve", "tiger", "--solver", "sarsap"],
            f"unknown solver 'sarsap'; did you mean 'sarsop'? (known: {', '.join(SOLVERS)})",
        ),
        (["solve", "tiger", "--solver", "sarsop", "--epsilon", "-1"], "epsilon must be at least 0, not -1.0"),
        (["solve", "tiger", "--solver", "sarsop", "--time-limit", "0"], "the time limit must be above 0, not 0.0"),
        (
            ["solve", "tiger", "--solver", "sarsop", "--objective", "fun"],
            "the objective is 'reward', 'cost', 'cost:NAME' or weights λ, not 'fun'",
        ),
        (
            ["solve", "tiger", "--solver", "sarsop", "--objective", "1,2"],
            "the weights λ must be 1 finite numbers, one per cost, not [1.0, 2.0]",
        ),
        (["solve", "rs-5-7", "--solver", "sarsop", "--objective", "cost"], "the model has no cost to minimise"),
        (
            ["solve", "tiger", "--out", "nowhere/policy.rcp"],
            "cannot write 'nowhere/policy.rcp': No such file or directory",
        ),
        (["solve", "tiger", "--budget", "1", "--budget", "2"], "budget has length 2, but the model has 1 cost"),
        (["solve", "tiger", "--budget", "much"], "budget 'much' is not a number, or NAME=NUMBER"),
        (["solve", "tiger", "--budget", "nan"], "budget of 'cost' is not a number"),
        (
            ["solve", "rs-5-7", "--budget", "1"],
            "'rs-5-7' has no costs that a budget could limit; add one by --cost 'NAME: ACTION : STATE VALUE', by "
            "model.with_costs in Python, or in the file (docs/formats.md)",
        ),
        (["solve", "tiger", "--solver", "sarsop", "--variant", "paper"], "solver 'sarsop' has no option 'variant'"),
        (["solve", "tiger", "--solver", "sarsop", "--seed", "-1"], "seed must be a whole number of at least 0, not -1"),
        (["solve", "ce", "--solver", "cgcp", "-o", "step_time=1"], "solver 'cgcp' has no option 'step_time'"),
        (["solve", "ce", "-o", "seed=1"], "option 'seed' has a flag of its own: --seed"),
        (["solve", "ce", "-o", "progress=1"], "option 'progress' is for Python alone"),
        (["solve", "ce", "-o", "beliefs"], "option 'beliefs' is not of the form key=value"),
        (["info", "none.rcp"], "policy file 'none.rcp' does not exist"),
        (["verify", "none.rcp"], "policy file 'none.rcp' does not exist"),
        (["verify", "tests"], "'tests' is not a file"),
        (["simulate", "--policy", "random"], "policy 'random' names no problem; give it with --problem"),
        (
            ["simulate", "--problem", "tiger", "--policy", "blind:lisen"],
            "action 'lisen' is not declared; did you mean 'listen'?",
        ),
        (
            ["simulate", "--problem", "tiger", "--policy", "random", "--runs", "0"],
            "runs must be a whole number of at least 1, not 0",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, words: list[str], sentence: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"rcpomdp: {sentence}\n")


def test_a_wrong_option_explains_itself_and_exits_with_2(run) -> None:
    ran = run("simulate", "--problem", "ce")
    assert ran.code == 2
    assert ran.out == ""
    assert "--policy" in ran.err
    assert run("fly").code == 2


def test_solve_prints_bounds_and_saves_a_policy_of_that_value(run, tmp_path: Path) -> None:
    path = tmp_path / "policy.rcp"
    words = ["solve", "crs-4-4", "--solver", "sarsop", "--epsilon", "0.01", "--out", str(path)]
    told = json.loads(run(*words, "--json").out)
    assert (told["problem"], told["solver"], told["status"]) == ("crs-4-4", "sarsop", "optimal")
    assert told["upper"] - told["lower"] == told["gap"] <= 0.011
    assert told["lower"] <= 16.9265 <= told["upper"] + 0.001
    model = rc.problems.make("crs-4-4")
    exact = rc.evaluate(model, rc.load_policy(path, model))
    assert exact.reward == pytest.approx(told["reward"])
    assert exact.cost.tolist() == pytest.approx(told["cost"])
    ran = run(*words)
    assert "rcpomdp: cost 2.4234 is above its budget: sarsop does not look at budgets" in ran.err.splitlines()
    unproven = "it is NOT proven to keep the budget in every history"
    assert f"rcpomdp: policy saved to {path}; {unproven}" in ran.err.splitlines()
    table = run("solve", "crs-4-4", "--solver", "sarsop", "--objective", "4.15", "--epsilon", "0.02").out
    assert "8.145" in table


def test_other_options_of_a_solver_are_passed_on_and_its_policy_is_simulated(run) -> None:
    words = ("solve", "ce", "--solver", "exp-gradient", "-o", "iterations=7", "--runs", "50", "--seed", "3", "--json")
    told = json.loads(run(*words).out)
    assert told["status"] == "iteration limit" or told["status"] == "optimal"
    model = rc.problems.make("ce")
    policy = rc.solve(model, "exp-gradient", iterations=7).policy
    assert told["simulation"] == rc.simulate(model, policy, runs=50, seed=3).summary()
    table = run("solve", "ce", "--runs", "10", "--steps", "5").out
    assert "10 runs of at most 5 steps, seed 0" in table
    assert "violation rate" in table


def test_solve_stops_at_its_limit_with_exit_code_4(run, tmp_path: Path) -> None:
    path = tmp_path / "policy.rcp"
    ran = run("solve", "tag", "--solver", "sarsop", "--time-limit", "0.5", "--json", "--out", str(path))
    told = json.loads(ran.out)
    assert (ran.code, told["status"]) == (4, "time limit")
    assert told["lower"] < told["upper"]
    assert "rcpomdp: time limit: the gap is " in ran.err
    assert "rcpomdp: more time " in ran.err
    assert path.exists()


def fake_arcs(
    model, *, variant="levels", epsilon=1e-3, time_limit=None, memory_limit=8e9, seed=0, progress=None
) -> Result:
    """Stands in for a solver that keeps budgets: listens as often as there is budget for, then opens for ever."""
    listens = next(t for t in range(100) if sum(0.75**i for i in range(t + 1)) > model.spending_limit[0])
    action = [0] * listens + [1]
    successor = [[min(i + 1, listens)] * 2 for i in range(listens + 1)]
    policy = rc.policies.ControllerPolicy(model, action, successor)
    exact = rc.evaluate(model, policy)
    status = {"levels": "optimal", "paper": "time limit"}.get(variant, variant)
    nothing = variant == "stalled"
    return Result(
        solver="arcs",
        objective="reward",
        status=status,
        lower=-float("inf") if nothing else exact.reward,
        upper=exact.reward + (epsilon if variant == "levels" else 1.0),
        reward=exact.reward,
        cost=exact.cost,
        sure_cost=exact.cost,
        policy=policy,
        seconds=0.5,
        setup_seconds=0.25,
        trace=[TracePoint(0.5, exact.reward, exact.reward, 1, 2, 3)],
        variant=variant,
        admissible=variant not in ("paper", "stalled"),
        horizon=2 if variant == "paper" else None,
        visits=7,
        seed=seed,
        suffices=np.array([2.5]) if variant == "infeasible" else None,
        needed=np.array([2.25]) if variant == "infeasible" else None,
    )


@pytest.fixture
def arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOLVERS, "arcs", replace(SOLVERS["arcs"], function=fake_arcs))


@pytest.mark.usefixtures("arcs")
def test_arcs_is_the_default_and_its_options_are_passed(run) -> None:
    ran = run("solve", "tiger", "--budget", "1.5", "--seed", "3", "--epsilon", "0.5", "--json")
    told = json.loads(ran.out)
    assert (ran.code, told["solver"], told["variant"], told["status"]) == (0, "arcs", "levels", "optimal")
    assert (told["seed"], told["epsilon"], told["time_limit"], told["budget"]) == (3, 0.5, None, [1.5])
    assert told["gap"] == pytest.approx(0.5)
    assert told["cost"] == told["sure_cost"] == [1.0]
    wanted = {"problem", "reward", "admissible", "horizon", "seconds", "setup_seconds", "visits", "beliefs", "plans"}
    assert wanted <= told.keys()
    assert json.loads(run("solve", "tiger", "--json").out)["epsilon"] == 1e-3
    assert json.loads(run("solve", "tiger", "--budget", "inf", "--json", "--solver", "sarsop").out)["budget"] == [None]
    ran = run("solve", "tiger", "--objective", "cost")
    assert (ran.code, ran.out, ran.err) == (2, "", "rcpomdp: solver 'arcs' has no option 'objective'\n")


@pytest.mark.usefixtures("arcs")
@pytest.mark.parametrize(
    ("variant", "code", "said"),
    [
        (
            "infeasible",
            3,
            "infeasible: no policy keeps the budget in every history: cost 2 is given, at least 2.25 is needed, "
            "2.5 suffices",
        ),
        ("paper", 4, "time limit: the gap is 1, above 0.001"),
        ("memory limit", 4, "memory limit: the gap is 1, above 0.001"),
        ("interrupted", 4, "interrupted: the gap is 1, above 0.001"),
        ("stalled", 4, "stalled: no policy that keeps the budget was found yet, and none is worth more than -"),
    ],
)
def test_every_status_has_its_exit_code_and_sentence(run, tmp_path: Path, variant: str, code: int, said: str) -> None:
    path = tmp_path / "policy.rcp"
    ran = run("solve", "tiger", "--budget", "2", "--variant", variant, "--json", "--out", str(path))
    assert ran.code == code
    assert f"rcpomdp: {said}" in ran.err
    assert json.loads(ran.out)["variant"] == variant
    assert rc.policy_info(path)["claims"]["variant"] == variant
    if variant == "paper":
        assert "rcpomdp: the policy is not proven to keep the budget in every history, only for 2 steps" in ran.err
    assert json.loads(ran.out)["lower"] is None if variant == "stalled" else True


def unsaveable(model, *, progress=None) -> Result:
    """A plug-in with a policy of its own, and no lower bound to claim."""
    found = fake_arcs(model, variant="time limit")

    class Own:
        initial, action, update = (
            staticmethod(getattr(found.policy, name)) for name in ("initial", "action", "update")
        )

    return replace(found, solver="own", policy=Own(), lower=-float("inf"), admissible=None)


def test_a_result_is_shown_though_its_policy_cannot_be_saved(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("rcpomdp.solvers.registry._registered", {"own": unsaveable})
    path = tmp_path / "policy.rcp"
    ran = run("solve", "tiger", "--solver", "own", "--out", str(path))
    assert ran.code == 1
    assert not path.exists()
    assert " reward " in ran.out
    assert ran.err.splitlines()[-1].startswith("rcpomdp: the policy is not saved: ")
    assert "there is a policy, but own claims no lower bound; none is worth more than" in ran.err
    assert "keeps the budget" not in ran.err


@pytest.mark.usefixtures("arcs")
def test_a_solved_policy_is_described_verified_and_simulated_by_its_file(run, tmp_path: Path) -> None:
    path = str(tmp_path / "policy.rcp")
    assert run("solve", "tiger", "-p", "accuracy=0.9", "--budget", "1.75", "--out", path).code == 0

    told = json.loads(run("info", path, "--json").out)
    assert (told["file"], told["kind"], told["nodes"], told["budget"]) == (path, "controller", 3, [1.75])
    assert told["problem"] == {"name": "tiger", "parameters": {"accuracy": 0.9}}
    assert told["claims"]["solver"] == "arcs"
    table = run("info", path).out
    assert "tiger -p accuracy=0.9" in table
    assert "1.75" in table
    assert run("info", path, "-p", "x=1").err == f"rcpomdp: policy file {path!r} takes no parameters\n"

    ran = run("verify", path)
    headline = "VERIFIED for the file's own budget, 1.75; that of tiger is 3; not checked: upper bound, status"
    assert (ran.code, ran.out.splitlines()[0]) == (0, headline)
    assert "sure cost" in ran.out
    told = json.loads(run("verify", path, "--json").out)
    assert (told["verified"], told["reason"], told["sure_cost"]) == (True, None, [1.75])
    assert told["claims"]["cost"] == told["cost"] == [1.75]
    ran = run("verify", path, "--budget", "1.5", "--json")
    assert (ran.code, json.loads(ran.out)["budget"]) == (1, [1.5])
    ran = run("verify", path, "--problem", "tiger", "-p", "accuracy=0.9", "-p", "budget=1")
    assert ran.code == 1
    assert ran.out.startswith("NOT VERIFIED: after listen:hear-left (2 times) the policy has spent 1.75 > 1")
    assert run("verify", path, "--problem", "tiger").code == 2  # the accuracy differs
    assert "made for another model" in run("verify", path, "-p", "accuracy=0.8").err

    told = json.loads(run("simulate", "--policy", path, "--runs", "20", "--json").out)
    assert (told["problem"], told["costs"][0]["budget"]) == ("tiger", 1.75)
    assert told["violation_rate"]["mean"] == 0
    told = json.loads(run("simulate", "--policy", path, "--runs", "20", "--budget", "1.5", "--json").out)
    assert told["violation_rate"]["mean"] == 1
    assert json.loads(run("simulate", "--policy", path, "-p", "budget=9", "--json").out)["costs"][0]["budget"] == 9


@pytest.mark.usefixtures("arcs")
def test_a_changed_action_in_a_file_is_caught(run, tmp_path: Path) -> None:
    """The bytes of the controller's actions are changed inside the archive, which stays a valid one."""
    path = tmp_path / "policy.rcp"
    run("solve", "tiger", "--budget", "1.75", "--out", str(path))
    changed = np.array([0, 0, 0])  # the last node listens for ever in place of opening
    rewritten(path, entries={"0.npy": npy(changed)})
    ran = run("verify", str(path))
    assert ran.code == 1
    assert "NOT VERIFIED: after listen:hear-left (3 times) the policy has spent 2.3125 > 1.75" in ran.out
    rewritten(path, entries={"0.npy": npy(np.array([0, 0, 2]))})  # opens the other door: worth the same
    assert run("verify", str(path)).code == 0
    rewritten(path, entries={"0.npy": npy(np.array([1, 0, 1]))})  # spends less, and is worth less
    ran = run("verify", str(path), "--json")
    assert (ran.code, json.loads(ran.out)["verified"]) == (1, False)
    assert "lower bound" in json.loads(ran.out)["reason"]


def test_a_policy_that_names_no_problem_needs_one(run, tmp_path: Path) -> None:
    model = rc.problems.make("tiger").with_initial_belief([0.5, 0.5])  # a model of one's own, as far as it knows
    path = tmp_path / "policy.rcp"
    rc.save_policy(path, rc.policies.blind(model, "open-left"), model)
    ran = run("verify", str(path))
    assert (ran.code, ran.err) == (
        2,
        f"rcpomdp: policy file {str(path)!r} does not name its problem; give its name or model file with --problem "
        "(rc.save_model writes the file of a model made in Python)\n",
    )
    assert run("verify", str(path), "--problem", "tiger").code == 0
    rc.save_policy(path, rc.policies.fib(model), model)
    ran = run("verify", str(path), "--problem", "tiger")
    sentence = (
        "only controllers, mixtures of them and plan sets can be verified, not AlphaPolicy; simulate it, or make "
    )
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"rcpomdp: {sentence}")


def test_the_live_line_copes_with_no_policy_yet() -> None:
    line = TracePoint(3.0, -float("inf"), 1.5, 1, 2000, 3).in_words()
    assert line == "3 s, no lower bound yet, at most 1.5, 2,000 beliefs, 3 plans"
    assert "[1, 1.5], gap 0.5" in TracePoint(3.0, 1.0, 1.5, 1, 2, 3).in_words()


def test_solvers_are_listed(run) -> None:
    assert "sarsop" in run("solvers").out
    assert "sarsop" in [row["name"] for row in json.loads(run("solvers", "--json").out)]


def test_rows_that_cannot_be_written_leave_nothing_behind(run, tmp_path: Path) -> None:
    ran = run(
        "simulate",
        "--problem",
        "ce",
        "--policy",
        "random",
        "--runs",
        "5",
        "--rows",
        str(tmp_path / "no" / "x.csv"),
    )
    assert ran.code == 2
    assert "cannot write" in ran.err
    assert not (tmp_path / "no").exists()


def test_version_and_help(run) -> None:
    assert run("--version").out.strip() == rc.__version__
    assert "simulate" in run("--help").out


def test_an_unexpected_failure_is_one_sentence_and_exit_code_1(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("the sky\nfell")

    monkeypatch.setattr(rc.problems, "catalogue", fail)
    ran = run("problems")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "rcpomdp: failed: RuntimeError: the sky fell (RCPOMDP_DEBUG=1 shows where)\n"


def interrupted(words: list[str], wait: float) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that is interrupted after some seconds."""
    # A shell has its background jobs ignore interrupts, and they hand that on.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = [sys.executable, "-c", f"{heeding}; from rcpomdp.__main__ import main; main()", *words]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            time.sleep(wait)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_prints_the_runs_done_and_exits_with_4(workers: str) -> None:
    words = ["simulate", "--problem", "tiger", "--policy", "random", "--runs", "100000000", "--json"]
    for wait in (2, 4, 8, 16, 32):  # a slow machine may have nothing to show at first
        code, out, err = interrupted([*words, "--workers", workers], wait)
        if code == 4 and out:
            break
    told = json.loads(out)
    assert 0 < told["runs"] < told["requested"]
    assert told["interrupted"]
    assert err.splitlines()[-1] == f"rcpomdp: stopped after {told['runs']} of 100000000 runs"


def test_an_interrupted_solve_prints_its_bounds_and_exits_with_4(tmp_path: Path) -> None:
    path = tmp_path / "policy.rcp"
    words = ["solve", "rs-7-8", "--solver", "sarsop", "--epsilon", "0", "--json", "--out", str(path)]
    for wait in (4, 8, 16, 32, 64):  # a slow machine may still be setting up
        code, out, err = interrupted(words, wait)
        if out:
            break
    told = json.loads(out)
    assert (code, told["status"]) == (4, "interrupted")
    assert told["lower"] < told["upper"]
    assert "rcpomdp: interrupted: the gap is " in err
    model = rc.problems.make("rs-7-8")
    assert rc.evaluate(model, rc.load_policy(path, model)).reward == pytest.approx(told["reward"])


def test_an_interrupt_before_the_first_result_exits_with_4(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rc.problems, "make", interrupted)
    ran = run("simulate", "--problem", "ce", "--policy", "random")
    assert (ran.code, ran.out, ran.err) == (4, "", "rcpomdp: stopped before anything was done\n")


def test_a_reader_that_leaves_early_is_no_failure() -> None:
    process = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {' '.join(COMMAND)} problems --json | head -n 1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.stdout, process.stderr) == ("[\n", "")


def test_the_second_start_compiles_nothing(tmp_path: Path) -> None:
    def start() -> tuple[str, dict[str, float]]:
        words = ["simulate", "--problem", "tunnels", "--policy", "fib", "--runs", "10"]
        done = subprocess.run(
            [*COMMAND, *words],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr, {str(f): f.stat().st_mtime_ns for f in tmp_path.rglob("*") if f.is_file()}

    said, first = start()
    assert "compiling" in said
    assert any(name.endswith(".nbc") for name in first)
    said, second = start()
    assert said == ""
    assert second == first


def test_import_is_light() -> None:
    """`import rcpomdp` loads none of the slow packages; they come with what needs them."""
    code = "import sys, rcpomdp; print([m for m in ('numba', 'scipy', 'numpy', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_is_light_until_it_computes() -> None:
    """Help, versions and completion wait neither for the compiler nor for SciPy."""
    code = "import sys, rcpomdp.cli; print([m for m in ('numba', 'scipy', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist_and_stay_what_they_are() -> None:
    import rcpomdp.simulation.simulate  # noqa: F401 - a module that is loaded must not hide a public name

    for name in rc.__all__:
        assert getattr(rc, name) is not None
    assert callable(rc.simulate)
    assert "simulate" in dir(rc)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rc.nothing  # noqa: B018
