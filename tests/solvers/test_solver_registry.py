"""Solvers by name: built in, from plug-ins, registered in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

import rcpomdp as rc
from rcpomdp import _plugins, cli
from rcpomdp.errors import InputError
from rcpomdp.solvers import SOLVERS, Criterion, declare, register, registry
from rcpomdp.solvers.arcs.solve import VARIANTS
from rcpomdp.solvers.sarsop import sarsop

HERE = __name__


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is forgotten after it, and no installed plug-in takes part."""
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(_plugins, "entry_points", lambda group: [])


def offer(monkeypatch, *entries):
    monkeypatch.setattr(_plugins, "entry_points", lambda group: [e for e in entries if e.group == group])


def entry(name, value, dist="cavers", group="rcpomdp.solvers"):
    point = EntryPoint(name, value, group)
    vars(point).update(dist=SimpleNamespace(name=dist) if dist else None)
    return point


def quick(model, *, epsilon=0.5, time_limit=None, progress=None):
    """Optimum without budgets, roughly.

    The rest is not shown.
    """
    return sarsop(model, epsilon=epsilon, time_limit=time_limit, progress=progress)


def plain(model, depth=3):
    return f"depth {depth}"


def needy(model, depth):
    """Cannot run with a model alone."""


NUMBER = 7


def test_every_built_in_solver_can_be_found_and_says_what_it_guarantees() -> None:
    assert registry.names() == list(SOLVERS)
    for name, solver in SOLVERS.items():
        assert registry.get(name) is solver
        assert (solver.name, solver.origin, solver.error) == (name, None, None)
        assert callable(solver.run)
        assert solver.summary
        assert "\n" not in solver.summary
        assert solver.criterion is not None
    assert {"arcs", "sarsop", "cpbvi", "cpbvi-d"} <= SOLVERS.keys()
    assert registry.DEFAULT in SOLVERS


@pytest.mark.parametrize("name", SOLVERS)
def test_every_built_in_solver_has_the_same_first_options(name: str) -> None:
    defaults = {key: parameter.default for key, parameter in registry.get(name).options.items()}
    alike = {"epsilon": 1e-3, "time_limit": None, "memory_limit": 8e9, "seed": 0, "progress": None}
    assert {key: defaults[key] for key in alike} == alike
    assert str(defaults.get("variant", "")) == "".join(SOLVERS[name].variants[:1])
    doc = SOLVERS[name].run.__doc__ or ""
    assert all(f"    {key} : " in doc for key in alike) or name == "cpbvi-d"  # whose parameters are those of cpbvi


def test_variants_are_those_that_arcs_knows() -> None:
    assert SOLVERS["arcs"].variants == VARIANTS


def test_solvers_of_others_declare_what_they_are(monkeypatch, run) -> None:
    @declare(criterion="none", online=True, randomised=True, bounds=False, variants=("a", "b"))
    def odd(model, *, variant="a"):
        """Odd."""
        return sarsop(model)

    register("odd", odd)
    register("quick", quick)
    told = registry.get("odd")
    assert (told.criterion, told.online, told.randomised) == (Criterion.NO_BUDGET, True, True)
    assert (told.bounds, told.variants, told.run) == (False, ("a", "b"), odd)
    told = registry.get("quick")
    assert (told.criterion, told.online, told.randomised, told.bounds, told.variants) == (None, False, False, True, ())
    assert (registry.criterion("odd"), registry.criterion("quick"), registry.criterion("gone")) == ("none", None, None)
    with pytest.raises(InputError, match="^a criterion is one of 'every history', 'expectation', 'none', not 'mine'$"):
        declare(criterion="mine")
    rows = {row["name"]: row for row in json.loads(run("solvers", "--json").out)}
    traits = ("criterion", "online", "randomised", "bounds", "variants")
    assert [rows["odd"][trait] for trait in traits] == ["none", True, True, False, ["a", "b"]]
    assert [rows["arcs"][trait] for trait in traits] == ["every history", False, False, True, ["levels", "paper"]]
    listed = run("solvers").out
    assert "odd: Odd\n    no budget; no bounds; randomised policy; solves while it runs; variants a, b\n" in listed
    assert "roughly\n    budget not told; bounds; deterministic policy\n" in listed
    ran = run("solve", "tiger", "--solver", "odd")
    assert "is above its budget: odd does not look at budgets" in ran.err
    ran = run("solve", "tiger", "--solver", "odd", "--out", "x.rcp")
    assert (ran.code, ran.err) == (
        2,
        "rcpomdp: the policy of odd solves while it runs, and cannot be saved; simulate it with --runs\n",
    )


def test_a_plug_in_is_listed_and_run(monkeypatch, capsys) -> None:
    offer(monkeypatch, entry("quick", f"{HERE}:quick"), entry("tiger", f"{HERE}:quick", group="rcpomdp.problems"))
    assert registry.names() == [*SOLVERS, "quick"]
    listed = {line.name: line for line in registry.catalogue()}
    listing = listed["quick"]
    assert (listing.summary, listing.origin, listing.error) == ("Optimum without budgets, roughly", "cavers", None)
    model = rc.problems.make("tiger")
    assert rc.solve(model, "quick", epsilon=1).status == "optimal"
    with pytest.raises(InputError, match="^solver 'quick' has no option 'epsilom'; did you mean 'epsilon'\\?$"):
        rc.solve(model, "quick", epsilom=1)
    with pytest.raises(InputError, match="^unknown solver 'quik'; did you mean 'quick'\\? \\(known: .*, quick\\)$"):
        rc.solve(model, "quik")
    monkeypatch.setattr(sys, "argv", ["rcpomdp", "solvers"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert not done.value.code
    assert "quick (plug-in cavers): Optimum without budgets, roughly\n" in capsys.readouterr().out


def test_the_command_line_solves_with_a_plug_in(monkeypatch, capsys) -> None:
    offer(monkeypatch, entry("quick", f"{HERE}:quick"))
    monkeypatch.setattr(sys, "argv", ["rcpomdp", "solve", "tiger", "--solver", "quick", "--json"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    told = json.loads(capsys.readouterr().out)
    assert (done.value.code, told["solver"], told["epsilon"]) == (0, "sarsop", 0.5)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("no_such_module:f", "cannot be loaded from plug-in 'cavers': ModuleNotFoundError: No module named 'no_such_m"),
        (f"{HERE}:nothing", "cannot be loaded from plug-in 'cavers': AttributeError: "),
        (f"{HERE}:NUMBER", "solver 'broken' of plug-in 'cavers' is 7, not a function"),
        (f"{HERE}:needy", "cannot be called with a model alone: missing a required argument: 'depth'"),
    ],
)
def test_a_broken_plug_in_is_listed_with_its_error_and_harms_nobody(monkeypatch, capsys, value, sentence) -> None:
    offer(monkeypatch, entry("broken", value), entry("quick", f"{HERE}:quick"))
    listed = {line.name: line for line in registry.catalogue()}
    assert sentence in listed["broken"].error
    assert listed["quick"].error is None
    with pytest.raises(InputError) as error:
        rc.solve(rc.problems.make("tiger"), "broken")
    assert sentence in str(error.value)
    monkeypatch.setattr(sys, "argv", ["rcpomdp", "solvers", "--json"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert not done.value.code
    assert sentence in rows["broken"]["error"]


def test_names_of_built_in_solvers_are_not_for_others(monkeypatch) -> None:
    offer(monkeypatch, entry("arcs", f"{HERE}:quick"))
    assert registry.names() == list(SOLVERS)
    assert registry.get("arcs").run.__module__ == "rcpomdp.solvers.arcs.solve"
    built_in, clash = [line for line in registry.catalogue() if line.name == "arcs"]
    assert built_in.error is None
    assert clash.error == "solver 'arcs' is built in; plug-in 'cavers' must choose another name"
    with pytest.raises(InputError, match="^solver 'arcs' is built in; choose another name$"):
        register("arcs", quick)


def test_two_plug_ins_of_one_name_are_both_refused(monkeypatch) -> None:
    offer(monkeypatch, entry("quick", f"{HERE}:quick"), entry("quick", f"{HERE}:quick", dist="miners"))
    with pytest.raises(InputError, match="^solver 'quick' is offered by more than one plug-in: 'cavers' and 'miners'$"):
        registry.get("quick")
    assert "more than one plug-in" in {line.name: line.error for line in registry.catalogue()}["quick"]


def test_registered_solvers_last_as_long_as_the_process() -> None:
    register("quick", quick)
    assert "quick" in registry.names()
    assert rc.solve(rc.problems.make("tiger"), "quick").status == "optimal"
    assert [line.summary for line in registry.catalogue() if line.name == "quick"] == [
        "Optimum without budgets, roughly"
    ]
    for name, run, sentence in (
        ("my solver", quick, "a solver's name has small letters, digits, '-', '_' and '.', unlike 'my solver'"),
        ("seven", 7, "solver 'seven' is 7, not a function"),
        ("needy", needy, "solver 'needy' cannot be called with a model alone: missing a required argument: 'depth'"),
    ):
        with pytest.raises(InputError) as error:
            register(name, run)
        assert str(error.value) == sentence


def test_what_comes_back_must_be_a_result() -> None:
    register("plain", plain)
    with pytest.raises(InputError, match="^solver 'plain' returned 'depth 4', which is no Result$"):
        rc.solve(rc.problems.make("tiger"), "plain", depth=4)


def test_plug_ins_are_found_by_installed_packages(tmp_path) -> None:
    """A package as pip leaves it: a module beside its metadata."""
    (tmp_path / "cavers.py").write_text(
        'print("hello from a plug-in")\n'
        "from rcpomdp.solvers.sarsop import sarsop\n\n\n"
        'def spelunk(model, *, time_limit=None, progress=None):\n    """As sarsop."""\n'
        "    return sarsop(model, time_limit=time_limit, progress=progress)\n"
    )
    info = tmp_path / "cavers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cavers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rcpomdp.solvers]\nspelunk = cavers:spelunk\nlost = cavers:lost\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from rcpomdp.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "solvers"], capture_output=True, text=True, check=True)
    assert "spelunk (plug-in cavers): As sarsop\n" in done.stdout
    assert "lost (plug-in cavers): unusable: solver 'lost' cannot be loaded" in done.stdout
    assert "hello" not in done.stdout


def test_typed_options_are_those_that_solvers_have() -> None:
    from rcpomdp.solvers import Options

    known = {option for solver in SOLVERS.values() for option in solver.options}
    assert set(Options.__annotations__) == known | {"work_limit"}  # which `solve` turns into a time limit
