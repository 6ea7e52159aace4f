import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rcpomdp import _plugins, problems
from rcpomdp.errors import ModelError, ProblemError
from rcpomdp.problems import Problem, registry
from rcpomdp.problems.layouts import LAYOUTS
from rcpomdp.problems.parameters import fits
from rcpomdp.problems.tiger import tiger

BUILT_IN = [
    *("ce", "tiger", "tunnels", "rocksample"),
    *("crs-4-4", "crs-5-7", "crs-7-8", "crs-11-11", "rs-5-7", "rs-7-8", "rs-11-11"),
    *("cheese-maze", "maze20", "query-s3", "mini-hall"),
    *("hallway", "hallway2", "tiger-grid", "tag", "bridge-repair"),
    *("warehouse", "patrol", "assembly-line", "delivery", "sample-return", "clinic"),
    *("drone", "remission", "cliff"),
]


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is forgotten after it, and no installed plug-in takes part."""
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(_plugins, "entry_points", lambda group: [])


def offer(monkeypatch, *entries):
    monkeypatch.setattr(_plugins, "entry_points", lambda group: [e for e in entries if e.group == group])


def entry(name, value, dist="caves", group="rcpomdp.problems"):
    point = EntryPoint(name, value, group)
    vars(point).update(dist=SimpleNamespace(name=dist) if dist else None)
    return point


# Built-in problems


def test_names():
    assert problems.names() == BUILT_IN


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_problem_builds_with_the_sizes_it_declares(name):
    problem = problems.get(name)
    model = problem.make()
    assert problem.sizes == (model.n_states, model.n_actions, model.n_observations)
    assert model.name == problem.name == name
    assert problem.summary.endswith(".")
    assert "\n" not in problem.summary


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_reference_lists_every_problem_with_its_sizes(name):
    page = (Path(__file__).parents[2] / "docs" / "reference" / "problems.md").read_text()
    problem = problems.get(name)
    row = " | ".join(f"{size:,}" for size in problem.sizes)
    assert f"\n| `{name}` | {row} | " in page
    assert f" | {problem.summary} |\n" in page


@pytest.mark.parametrize("name", [name for name in BUILT_IN if "11" not in name])
def test_budget_is_a_parameter_everywhere_and_none_is_unlimited(name):
    if name.startswith("rs-"):  # has no costs
        with pytest.raises(ModelError, match="^budget is 2, but without costs it must be None$"):
            problems.make(name, budget=2)
        return
    n_costs = problems.make(name).n_costs
    for given, expected in ((0.125, 0.125), (1, 1.0), (None, np.inf)):  # a risk is at most 1
        budget = given if n_costs == 1 or given is None else (given,) * n_costs
        assert problems.make(name, budget=budget).budget.tolist() == [expected] * n_costs


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_parameter_has_a_default_that_fits_its_annotation(name):
    for parameter in problems.get(name).parameters.values():
        default, annotation = parameter
        assert default is not registry.REQUIRED
        assert fits(default, annotation)
        assert not fits(object(), annotation)


def test_parameters_know_the_overriding_defaults():
    parameters = problems.get("rs-7-8").parameters
    assert parameters["n"] == (7, int)
    assert parameters["start"].default == (1, 4)
    assert parameters["costs"] == (False, bool)
    assert parameters["rocks"].default == LAYOUTS["rs-7-8"]["rocks"]
    assert parameters["discount"].default == 0.95
    assert problems.get("tunnels").parameters["budget"].annotation == float | None


def test_given_parameters_take_the_place_of_defaults():
    model = problems.make("rs-5-7", start=(1, 1), costs=True, budget=2.0)
    first = int(np.flatnonzero(model.initial_belief)[0])
    assert str(model.states[first]).startswith("(1,1) ")
    assert model.budget.tolist() == [2]
    assert problems.make("rs-5-7").n_costs == 0
    assert problems.make("tiger", accuracy=np.float32(0.75)).observation[0].toarray()[0, 0] == 0.75


def test_listing_imports_neither_builders_nor_numerics():
    code = (
        "import sys, rcpomdp.problems as p; p.catalogue(); "
        "print(sorted({'numpy', 'scipy', 'numba', 'rcpomdp.problems.tiger'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Errors


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("tigre", {}, "unknown problem 'tigre'; did you mean 'tiger'?"),
        ("cheese_maze", {}, "unknown problem 'cheese_maze'; did you mean 'cheese-maze'?"),
        (
            "zzz",
            {},
            "unknown problem 'zzz'; `rcpomdp problems` lists those there are, and files end in .pomdp or .pomdpx",
        ),
        (
            "tunnels",
            {"p_corect": 0.8},
            "problem 'tunnels' has no parameter 'p_corect'; did you mean 'p_correct'?",
        ),
        (
            "tunnels",
            {"zzz": 0.8},
            "problem 'tunnels' has no parameter 'zzz' (known: p_correct, back_cost, budget, discount, "
            "map, added_costs, cost_discount, step_limit, horizon)",
        ),
        (
            "tunnels",
            {"p_correct": "abc"},
            "parameter 'p_correct' of problem 'tunnels' must be a number, not 'abc'",
        ),
        (
            "tunnels",
            {"p_correct": None},
            "parameter 'p_correct' of problem 'tunnels' must be a number, not None",
        ),
        ("ce", {"accuracy": True}, "parameter 'accuracy' of problem 'ce' must be a number, not True"),
        ("ce", {"budget": "x"}, "parameter 'budget' of problem 'ce' must be a number or None, not 'x'"),
        ("crs-5-7", {"n": 5.5}, "parameter 'n' of problem 'crs-5-7' must be a whole number, not 5.5"),
        ("crs-5-7", {"costs": 1}, "parameter 'costs' of problem 'crs-5-7' must be true or false, not 1"),
        ("crs-5-7", {"name": 1}, "parameter 'name' of problem 'crs-5-7' must be text, not 1"),
        (
            "crs-5-7",
            {"start": (1, 2, 3)},
            "parameter 'start' of problem 'crs-5-7' must be a pair of whole numbers, not (1, 2, 3)",
        ),
        (
            "rocksample",
            {"rocks": (1, 1)},
            "parameter 'rocks' of problem 'rocksample' must be a sequence of pairs of whole numbers, not (1, 1)",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(name, params, sentence):
    with pytest.raises(ProblemError) as error:
        problems.make(name, **params)
    assert str(error.value) == sentence


# Registered by hand


def test_register():
    problems.register(Problem("sharp-tiger", "Good ears.", tiger, {"accuracy": 0.95}))
    assert problems.names() == [*BUILT_IN, "sharp-tiger"]
    assert problems.make("sharp-tiger").observation[0].toarray()[0, 0] == 0.95
    assert problems.make("sharp-tiger", accuracy=0.9).observation[0].toarray()[0, 0] == 0.9
    problems.register(Problem("sharp-tiger", "Better ears.", tiger, {"accuracy": 0.99}))
    assert problems.make("sharp-tiger").observation[0].toarray()[0, 0] == 0.99


def test_built_in_names_are_taken():
    with pytest.raises(ProblemError, match="problem 'tiger' is built in; choose another name"):
        problems.register(Problem("tiger", "Another.", tiger))
    assert problems.get("tiger").summary != "Another."


def test_required_parameters_foreign_annotations_and_variadics():
    def build(size: int, ears: "Unknown", shape: "tuple[int, str, float]" = (1, "a", 2.0), *rest, **more):  # noqa: F821
        return tiger()

    problem = Problem.from_builder("odd", build)
    assert list(problem.parameters) == ["size", "ears", "shape"]
    assert problem.summary == ""
    with pytest.raises(ProblemError, match="problem 'odd' needs the parameter 'ears'"):
        problem.make(size=2)
    assert problem.make(size=2, ears=object()).name == "tiger"
    with pytest.raises(ProblemError, match="problem 'odd' has no parameter 'more'"):
        problem.make(size=2, ears=1, more=3)


def test_longer_tuples_are_described():
    def build(shape: tuple[int, str, float] = (1, "a", 2.0)):
        return tiger()

    with pytest.raises(ProblemError, match="must be a 3-tuple of whole numbers and texts and numbers, not 3"):
        Problem.from_builder("odd", build).make(shape=3)


def test_a_builder_must_exist_and_build_a_model():
    with pytest.raises(ProblemError, match=r"problem 'x' has no builder 'rcpomdp.nowhere:f': .*nowhere"):
        Problem("x", "", "rcpomdp.nowhere:f").make()
    with pytest.raises(ProblemError, match=r"has no builder 'rcpomdp\.problems\.tiger:lion'"):
        Problem("x", "", "rcpomdp.problems.tiger:lion").make()
    with pytest.raises(ProblemError, match=r"problem 'x' built \{\}, which is not a CPOMDP"):
        Problem("x", "", lambda: {}).make()


# Plug-ins


def test_an_entry_point_may_be_a_builder(monkeypatch):
    offer(monkeypatch, entry("their-tiger", "rcpomdp.problems.tiger:tiger"))
    problem = problems.get("their-tiger")
    assert problem.name == "their-tiger"
    assert problem.summary == (tiger.__doc__ or "").splitlines()[0]
    assert problem.sizes is None
    assert problems.make("their-tiger", budget=1.5).budget.tolist() == [1.5]
    assert problems.names() == [*BUILT_IN, "their-tiger"]


THEIRS = Problem("whatever", "Theirs.", tiger, {"budget": 7.0}, (2, 3, 2))


def test_an_entry_point_may_be_a_problem_and_is_known_by_its_own_name(monkeypatch):
    offer(monkeypatch, entry("their-tiger", f"{__name__}:THEIRS"))
    problem = problems.get("their-tiger")
    assert (problem.name, problem.summary, problem.sizes) == ("their-tiger", "Theirs.", (2, 3, 2))
    assert problem.make().budget.tolist() == [7]


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("rcpomdp.problems.tiger:lion", "AttributeError: .*lion"),
    ],
)
def test_a_broken_plug_in_is_reported_and_breaks_nothing_else(monkeypatch, value, cause):
    offer(monkeypatch, entry("broken", value, dist="broken-caves"), entry("fine", "rcpomdp.problems.ce:ce"))
    sentence = f"problem 'broken' cannot be loaded from plug-in 'broken-caves': {cause}"
    with pytest.raises(ProblemError, match=sentence):
        problems.make("broken")
    listed = problems.catalogue()
    assert list(listed) == problems.names() == [*BUILT_IN, "broken", "fine"]
    assert isinstance(listed["broken"], ProblemError)
    assert "broken-caves" in str(listed["broken"])
    assert all(isinstance(found, Problem) for name, found in listed.items() if name != "broken")
    assert problems.make("fine").name == "ce"


def test_a_plug_in_that_exits_when_imported_is_reported(monkeypatch, tmp_path):
    (tmp_path / "leaves_at_once.py").write_text("raise SystemExit('no licence')")
    monkeypatch.syspath_prepend(tmp_path)
    offer(monkeypatch, entry("leaving", "leaves_at_once:f", dist=None))
    with pytest.raises(ProblemError, match="plug-in 'leaves_at_once:f': SystemExit: no licence"):
        problems.get("leaving")


def test_a_plug_in_that_is_no_problem_is_reported(monkeypatch):
    offer(monkeypatch, entry("number", "rcpomdp.problems.rocksample:MAX_ROWS"))
    with pytest.raises(ProblemError, match="problem 'number' of plug-in 'caves' is 67108864, neither"):
        problems.get("number")


def test_two_plug_ins_of_one_name_are_reported(monkeypatch):
    value = "rcpomdp.problems.ce:ce"
    offer(monkeypatch, entry("cave", value, dist="one"), entry("cave", value, dist="two"))
    with pytest.raises(ProblemError, match="offered by more than one plug-in: 'one' and 'two'"):
        problems.get("cave")


def test_a_plug_in_cannot_take_a_built_in_name(monkeypatch):
    offer(monkeypatch, entry("tiger", "rcpomdp.problems.ce:ce"))
    assert problems.names() == BUILT_IN
    assert problems.make("tiger").name == "tiger"


def test_what_is_registered_comes_before_plug_ins_and_other_groups_do_not_count(monkeypatch):
    offer(
        monkeypatch,
        entry("cave", "rcpomdp.problems.ce:ce"),
        entry("other", "rcpomdp.problems.ce:ce", group="rcpomdp.solvers"),
    )
    problems.register(Problem("cave", "Mine.", tiger))
    assert problems.get("cave").summary == "Mine."
    assert problems.names() == [*BUILT_IN, "cave"]


# Values from the command line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-3", -3),
        ("0.8", 0.8),
        (" 1e-3 ", 0.001),
        ("inf", float("inf")),
        ("true", True),
        ("False", False),
        ("none", None),
        ("1,1", (1, 1)),
        ("(1,1)", (1, 1)),
        ("(1,1),(3,3)", ((1, 1), (3, 3))),
        ("(1,1),", ((1, 1),)),
        ("()", ()),
        ("[0.5, 2]", [0.5, 2]),
        ("left", "left"),
        ("", ""),
        ("(1,", "(1,"),
        ("1e", "1e"),
        ("e", "e"),
        ("1.2.3", "1.2.3"),
        ("[1](2)", "[1](2)"),
        ("(" * 300, "(" * 300),
        ("__import__('os')", "__import__('os')"),
    ],
)
def test_parse(text, value):
    parsed = problems.parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_parsed_values_build_the_map_they_say():
    given = {"n": "3", "rocks": "(1,1),(3,3)", "start": "2,1", "costs": "false"}
    given |= {"budget": "none", "discount": "0.9"}
    model = problems.make("rocksample", **{key: problems.parse(text) for key, text in given.items()})
    assert (model.n_states, model.n_costs, model.discount) == (37, 0, 0.9)


def test_a_plug_in_with_an_unreadable_signature_is_reported_and_others_are_listed(monkeypatch):
    def odd(x: "1 / 0" = 1): ...

    registry.register(Problem.from_builder("odd", odd))
    found = problems.catalogue()
    assert isinstance(found["odd"], ProblemError)
    assert "problem 'odd' has a builder without a readable signature" in str(found["odd"])
    assert isinstance(found["tiger"], Problem)
