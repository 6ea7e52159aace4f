"""One cell: what is written down of it, and what goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc
from made_records import cell
from rcpomdp.errors import InputError
from rcpomdp.experiments.run.cell import run_cell
from rcpomdp.experiments.run.store import RunStore
from rcpomdp.solvers import registry
from rcpomdp.solvers.arcs.search import ArcsSwitches
from rcpomdp.solvers.belief_graph.search import BeliefGraphSwitches


def test_a_record_is_what_the_solver_and_the_simulator_say() -> None:
    lines: list[str] = []
    of = cell(title="Tunnels", problem="tunnels", budget=[0.75], runs=50, seed=3)
    found = run_cell(of, lines.append)
    model = rc.problems.make("tunnels").with_budget([0.75])
    result = rc.solve(model, "arcs")
    runs = rc.simulate(model, result.policy, runs=50, steps=20, seed=3, paths=True)
    assert (found.status, found.error) == ("optimal", None)
    assert (found.lower, found.upper, found.reward) == (result.lower, result.upper, result.reward)
    assert found.admissible is True
    assert np.array_equal(found.run_reward, runs.outcome.reward)
    assert np.array_equal(found.run_cost, runs.outcome.cost)
    assert np.array_equal(found.run_spent, runs.outcome.spent)
    assert np.array_equal(found.run_violation, runs.outcome.violation)
    assert np.array_equal(found.run_length, runs.outcome.length)
    assert np.array_equal(found.paths, runs.outcome.path)  # path i is run i
    assert found.model_hash == model.fingerprint
    assert found.trace[-1, 1] == result.lower
    assert found.versions["numpy"] == np.__version__
    assert found.started <= found.finished
    assert (lines[0], lines[-1]) == ("setting up", "simulated 50 of 50 runs")


def test_without_runs_nothing_is_simulated() -> None:
    found = run_cell(cell(runs=0))
    assert (found.status, found.reward) == ("optimal", pytest.approx(10.0))
    assert (found.run_reward.shape, found.run_cost.shape) == ((0,), (0, 1))
    assert found.simulation_seconds == 0.0


def test_solvers_get_seed_and_limit_of_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(model, *, time_limit, seed, other=0):
        raise InputError(f"limit {time_limit}, seed {seed}, other {other}, budget {model.budget.tolist()}")

    monkeypatch.setitem(registry._registered, "probe", probe)
    found = run_cell(cell(solver="probe", seed=5, options={"other": 7}, budget=[2.5]))
    assert found.error == "InputError: limit 60.0, seed 5, other 7, budget [2.5]"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"problem": "tigre"}, "ProblemError: unknown problem 'tigre'; did you mean 'tiger'?"),
        ({"options": {"epsilonn": 1}}, "InputError: solver 'arcs' has no option 'epsilonn'"),
        ({"budget": [-1.0]}, "budget"),
        ({"options": {"switches": {"idea": 1}}}, "InputError: ARCS does not know these switches"),
    ],
)
def test_what_goes_wrong_is_a_record_too(change: dict[str, object], error: str, tmp_path) -> None:
    found = run_cell(cell(**change))
    assert found.status == "failed"
    assert error in str(found.error)
    with RunStore(tmp_path / "runs.db", create=True) as store:
        assert store.add(found)


def test_ideas_of_arcs_are_plain_values() -> None:
    assert ArcsSwitches.of({}) == ArcsSwitches()
    assert ArcsSwitches.of({"belief_graph": {"rays": False}}) == ArcsSwitches(
        belief_graph=BeliefGraphSwitches(rays=False)
    )


WARM = """
from rcpomdp import problems, solve
from rcpomdp.experiments.run.warm import load_kernels
from rcpomdp.experiments.run.cell import run_cell
from rcpomdp.experiments.suites import cells
from rcpomdp.kernels.jit import when_compiling
load_kernels()
when_compiling(lambda: print("compiled"))
for pattern in ("tunnels", "ce,", "tiger*arcs", "tiger*sarsop", "tiger*cgcp"):
    for _, cell in cells("smoke", only=pattern):
        assert run_cell(cell).error is None
for problem, solver, options in (("crs-4-4", "cgcp", {"epsilon": 0.5}), ("ce", "arcs", {"variant": "paper"})):
    model = problems.make(problem).with_budget([0.0 if problem == "ce" else 1.0])
    solve(model, solver, time_limit=20.0, **options)
from rcpomdp.kernels.arcs_published.trials import least_budget
from rcpomdp.kernels.belief_graph.search import retarget
from rcpomdp.kernels.belief_graph.interning import rehash
assert [len(used.signatures) for used in (least_budget, retarget, rehash)] == [1, 1, 1]
print("done")
"""


def test_nothing_is_left_to_compile_once_kernels_are_loaded() -> None:
    ran = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, timeout=600, check=False)
    assert (ran.stdout, ran.stderr) == ("done\n", "")


COMPILE = """
import sys, time
from pathlib import Path
from rcpomdp.experiments.run import warm

def run_all():
    with Path(sys.argv[1]).open("a") as log:
        print("begins", file=log, flush=True)
        time.sleep(0.3)
        print("ends", file=log, flush=True)

warm._run_all = run_all
for _ in range(2):
    getattr(warm, sys.argv[2])()
"""


def test_two_processes_never_compile_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    log = tmp_path / "log"
    words = [sys.executable, "-c", COMPILE, str(log)]
    processes = [subprocess.Popen([*words, "load_kernels"]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert log.read_text().split() == ["begins", "ends"] * 3
    subprocess.run([*words, "compile_kernels"], check=True, timeout=120)  # there is nothing left to compile
    assert log.read_text().split() == ["begins", "ends"] * 3
