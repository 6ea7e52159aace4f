"""Policy files: round trips, and what is refused."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from policy_files import npy, rewritten
from rcpomdp.io.atomic import whole_file
from rcpomdp.policies import AlphaPolicy, MixturePolicy, PlanSetPolicy, RandomPolicy, blind
from sample_policies import any_plan_set, every_kind

MODEL = rc.problems.make("tiger")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "policy.rcp"
    alpha = AlphaPolicy(MODEL, [[0, 0], [-10, 1], [1, -10]], [0, 1, 2])
    rc.save_policy(path, MixturePolicy([alpha, blind(MODEL, "listen")], [0.5, 0.5]), MODEL)
    return path


def test_every_kind_comes_back_the_same(tmp_path: Path) -> None:
    for kind, policy in every_kind(MODEL).items():
        if kind in {"mixture", "nested"}:
            continue  # hold a policy that has no array form
        path = tmp_path / f"{kind}.rcp"
        rc.save_policy(path, policy, MODEL)
        again = rc.load_policy(path, MODEL)
        assert type(again) is type(policy)
        rows = [list(rc.simulate(MODEL, p, runs=50, seed=1).rows()) for p in (policy, again)]
        assert rows[0] == rows[1]


def test_a_mixture_comes_back_and_the_bytes_are_always_the_same(saved: Path, tmp_path: Path) -> None:
    policy = rc.load_policy(saved, MODEL)
    assert isinstance(policy, MixturePolicy)
    rc.save_policy(tmp_path / "again.rcp", policy, MODEL)
    assert (tmp_path / "again.rcp").read_bytes() == saved.read_bytes()


def test_claims_and_the_problem_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "policy.rcp"
    claims = {"reward": np.float64(1.5), "cost": np.array([2.0]), "lower": -np.inf, "admissible": True, "options": {}}
    problem = {"name": "tiger", "parameters": {"budget": 3.0, "doors": (1, 2)}}
    rc.save_policy(path, blind(MODEL, "listen"), MODEL, claims, problem)
    told = rc.policy_info(path)
    assert told == {
        "policy": {"kind": "controller", "nodes": 1, "observations": 2},
        "model": {"name": "tiger", "fingerprint": MODEL.fingerprint, "budget": [3.0]},
        "problem": {"name": "tiger", "parameters": {"budget": 3.0, "doors": [1, 2]}},
        "claims": {"reward": 1.5, "cost": [2.0], "lower": None, "admissible": True, "options": {}},
        "format_version": 1,
        "library_version": rc.__version__,
    }
    assert rc.load_policy(path, MODEL).action(0) == 0
    before = path.read_bytes()
    with pytest.raises(rc.PolicyError, match="^claim 'x' is .*object.*, which a policy file cannot hold$"):
        rc.save_policy(path, blind(MODEL, "listen"), MODEL, {"x": object()})
    assert path.read_bytes() == before


def test_files_without_claims_are_described_too(saved: Path, tmp_path: Path) -> None:
    told = rc.policy_info(saved)
    assert told["claims"] is None
    assert told["problem"] == {"name": "tiger", "parameters": {}}  # a model knows where it is from
    assert told["policy"]["kind"] == "mixture"
    assert told["policy"]["weights"] == [0.5, 0.5]
    assert [part["kind"] for part in told["policy"]["policies"]] == ["alpha", "controller"]
    assert told["policy"]["policies"][0] == {"kind": "alpha", "vectors": 3, "states": 2}
    rc.save_policy(tmp_path / "random.rcp", RandomPolicy(MODEL.with_budget(None)), MODEL.with_budget(None))
    told = rc.policy_info(tmp_path / "random.rcp")
    assert (told["policy"], told["model"]["budget"]) == ({"kind": "random"}, [None])


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    path = tmp_path / "plans.rcp"
    rc.save_policy(path, any_plan_set(MODEL, np.random.default_rng(1)), MODEL)
    return path


def test_a_plan_set_is_described_and_comes_back_to_the_bit(plans: Path, tmp_path: Path) -> None:
    policy = rc.load_policy(plans, MODEL)
    assert isinstance(policy, PlanSetPolicy)
    nodes = int((policy.domain < 0).sum())
    sizes = {"plans": policy.actions.size - nodes, "belief_nodes": nodes, "guides": 0, "observations": 2}
    assert rc.policy_info(plans)["policy"] == {"kind": "plan-set", **sizes}
    rc.save_policy(tmp_path / "again.rcp", policy, MODEL)
    assert (tmp_path / "again.rcp").read_bytes() == plans.read_bytes()
    free = MODEL.scalarised([1.0])  # a model without costs has sure costs of shape (n, 0)
    rc.save_policy(plans, any_plan_set(free, np.random.default_rng(2)), free)
    assert rc.load_policy(plans, free).sure_cost.shape == (9, 0)
    assert rc.load_policy(plans, free).budget.size == 0


@pytest.mark.parametrize(
    ("name", "array", "sentence"),
    [
        ("actions", np.array([7] * 9), "node 0 takes action 7, which the model does not have"),
        ("actions", np.zeros(9), "actions of a plan set must be indices, not float64 values"),
        ("successors", np.zeros((9, 3), dtype=np.int64), "a plan set of 9 nodes needs successors of shape (9, 2), "),
        ("successors", np.full((9, 2), 2**62), "node 0 goes to node 4611686018427387904 after observation 'hear-left'"),
        ("sure_cost", np.full((9, 1), np.nan), "the sure cost of node 0 is nan, not at least 0"),
        ("domain", np.full(9, 2**62), "node 0 has domain 4611686018427387904, which does not exist"),
        ("domain_start", np.array([0, 2**62, 2]), "the beginnings of the domains do not divide "),
        ("domain_start", np.array([2**62, 0]), "the beginnings of the domains do not divide "),
        ("domain_states", np.array([0, 2**40]), "the beginnings of the domains do not divide 2 states"),
        ("values_start", np.array([-(2**62)] * 10), "the beginnings of the values do not divide "),
        ("values_start", np.zeros(10, dtype=np.int64), "the beginnings of the values do not divide "),
        ("values", np.zeros(0), "the beginnings of the values do not divide 0 numbers"),
    ],
)
def test_a_hostile_plan_set_is_refused_with_a_sentence(name: str, array: Any, sentence: str, plans: Path) -> None:
    with zipfile.ZipFile(plans) as archive:
        place = json.loads(archive.read("policy.json"))["policy"][name]
    rewritten(plans, entries={f"{place}.npy": npy(array)})
    with pytest.raises(rc.PolicyError) as caught:
        rc.load_policy(plans, MODEL)
    assert str(caught.value).startswith(f"policy file {str(plans)!r}: {sentence}")


@pytest.mark.parametrize("changes", [{"start": 1.0}, {"start": None}, {"start": True}, {"values": "x"}, {"domain": 99}])
def test_a_plan_set_with_a_damaged_header_is_refused(changes: dict[str, Any], plans: Path) -> None:
    with zipfile.ZipFile(plans) as archive:
        tree = json.loads(archive.read("policy.json"))["policy"]
    rewritten(plans, policy=tree | changes)
    with pytest.raises(rc.PolicyError, match="^policy file '.*' is damaged$"):
        rc.load_policy(plans, MODEL)


def test_foreign_files_are_not_described(saved: Path, tmp_path: Path) -> None:
    def sentence(path: Path) -> str:
        with pytest.raises(rc.PolicyError) as caught:
            rc.policy_info(path)
        return str(caught.value).replace(repr(str(path)), "FILE")

    good = saved.read_bytes()
    assert sentence(tmp_path / "none.rcp") == "policy file FILE does not exist"
    assert sentence(tmp_path) == "FILE is not a file"
    saved.write_text("not a zip")
    assert sentence(saved) == "FILE is not a policy file, or it is damaged"
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("hello.txt", "hi")
    assert sentence(saved) == "FILE is not a policy file"

    def changed(**changes: Any) -> str:
        saved.write_bytes(good)
        return sentence(rewritten(saved, **changes))

    damaged = "policy file FILE is damaged"
    assert changed(claims=[1]) == changed(problem="tiger") == changed(problem={"name": "tiger"}) == damaged
    assert changed(problem={"name": 3, "parameters": {}}) == changed(model=None) == changed(model={}) == damaged
    assert changed(policy={"kind": "controller"}) == damaged
    assert changed(policy={"kind": "oracle"}).endswith(
        "holds a policy of kind 'oracle', which this version does not know"
    )
    assert changed(entries={"0.npy": None}) == damaged


def test_another_budget_is_no_other_model(saved: Path) -> None:
    rc.load_policy(saved, MODEL.with_budget(1.5))


def test_what_is_refused(saved: Path, tmp_path: Path) -> None:
    def sentence(path: Path, model: rc.CPOMDP = MODEL) -> str:
        with pytest.raises(rc.PolicyError) as caught:
            rc.load_policy(path, model)
        return str(caught.value).replace(repr(str(path)), "FILE")

    good = saved.read_bytes()
    assert sentence(saved, rc.problems.make("ce")) == (
        "FILE was made for another model, 'tiger', or for other parameters of it"
    )
    assert sentence(saved, rc.problems.make("tiger", accuracy=0.9)).startswith("FILE was made for another model")
    assert sentence(tmp_path / "none.rcp") == "policy file FILE does not exist"
    assert sentence(tmp_path) == "FILE is not a file"
    saved.write_bytes(b"")
    assert sentence(saved) == "FILE is not a policy file, or it is damaged"
    saved.write_text("not a zip")
    assert sentence(saved) == "FILE is not a policy file, or it is damaged"
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("hello.txt", "hi")
    assert sentence(saved) == "FILE is not a policy file"

    def changed(**changes: Any) -> str:
        saved.write_bytes(good)
        return sentence(rewritten(saved, **changes))

    assert changed(format="other") == "FILE is not a policy file"
    newer = "FILE was written by a newer version of rcpomdp (9.0)"
    assert changed(format_version=2, library_version="9.0") == newer
    unknown = "policy file FILE: holds a policy of kind 'oracle', which this version does not know"
    assert changed(policy={"kind": "oracle"}) == unknown
    assert changed(policy={"kind": "alpha"}) == "policy file FILE is damaged"
    assert changed(policy=[]) == "policy file FILE is damaged"
    assert changed(model=None) == "policy file FILE is damaged"
    compressed = "policy file FILE: entry 'policy.json' is compressed, as no policy file's is"
    assert changed(compression=zipfile.ZIP_DEFLATED) == compressed
    tree = {"kind": "alpha", "vectors": 0, "actions": 2}
    layout = "policy file FILE: array 0 has an unknown layout"
    objects = np.array([None], dtype=object)
    pickled = io.BytesIO()
    np.save(pickled, objects, allow_pickle=True)
    assert changed(policy=tree, entries={"0.npy": pickled.getvalue()}) == layout
    assert changed(policy=tree, entries={"0.npy": npy(np.zeros((3, 2), dtype=np.float32))}) == layout
    guessed = npy(np.zeros((3, 2))).replace(b"(3, 2), }  ", b"(3L, 2L), }")  # as Python 2 wrote it; NumPy warns
    assert changed(policy=tree, entries={"0.npy": guessed}) == layout
    old = npy(np.zeros((3, 2))).replace(b"'<f8'", b"'a24'")  # an alias that NumPy warns about
    assert changed(policy=tree, entries={"0.npy": old}) == layout
    assert changed(policy=tree, entries={"0.npy": npy(np.zeros((3, 2)))[:-8]}) == "policy file FILE is damaged"
    assert changed(policy=tree, entries={"0.npy": None}) == "policy file FILE is damaged"
    wide = "policy file FILE: 3 actions need vectors of shape (3, 2), not (3, 5)"
    assert changed(policy=tree, entries={"0.npy": npy(np.zeros((3, 5)))}) == wide
    huge = npy(np.zeros((3, 2))).replace(b"(3, 2)", b"(3, 9)")
    assert changed(policy=tree, entries={"0.npy": huge}) == "policy file FILE is damaged"


@settings(
    derandomize=True,
    deadline=None,
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_damage_is_noticed_or_harmless(saved: Path, data: st.DataObject) -> None:
    """Any flipped byte or cut end: a PolicyError, or the same policy (a byte that means nothing)."""
    good = saved.read_bytes()
    reference = list(rc.simulate(MODEL, rc.load_policy(saved, MODEL), runs=20, seed=1).rows())
    damaged = bytearray(good)
    if data.draw(st.booleans(), label="cut"):
        del damaged[data.draw(st.integers(0, len(good) - 1), label="at") :]
    else:
        at = data.draw(st.integers(0, len(good) - 1), label="at")
        damaged[at] ^= data.draw(st.integers(1, 255), label="by")
    path = saved.with_name("damaged.rcp")
    path.write_bytes(bytes(damaged))
    try:
        policy = rc.load_policy(path, MODEL)
    except rc.PolicyError:
        return
    assert list(rc.simulate(MODEL, policy, runs=20, seed=1).rows()) == reference


def test_a_policy_without_a_file_form_leaves_the_old_file_alone(saved: Path) -> None:
    before = saved.read_bytes()

    class Own:
        def initial(self, rng: np.random.Generator) -> int:
            return 0

        def action(self, state: int) -> int:
            return 0

        def update(self, state: int, observation: int) -> int:
            return 0

    with pytest.raises(rc.PolicyError, match="^a policy of type Own cannot be saved; make a controller"):
        rc.save_policy(saved, Own(), MODEL)
    assert saved.read_bytes() == before


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("old")
    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines([b"half", None])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with whole_file(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    with pytest.raises(rc.InputError, match="^cannot write .*: No such file or directory$"):
        rc.save_policy(tmp_path / "no" / "x.rcp", RandomPolicy(MODEL), MODEL)


# What would take more room or time than the file


def test_an_array_is_named_once(saved: Path) -> None:
    """Else a small file could ask for a large array any number of times."""
    part = {"kind": "alpha", "vectors": 1, "actions": 2}
    rewritten(saved, policy={"kind": "mixture", "weights": 0, "policies": [part, part]})
    for read in (lambda: rc.load_policy(saved, MODEL), lambda: rc.io.policy_info(saved)):
        with pytest.raises(rc.PolicyError, match="^policy file '.*': array 1 is named twice$"):
            read()
    rewritten(saved, policy={"kind": "alpha", "vectors": 1.5, "actions": 2})
    with pytest.raises(rc.PolicyError, match="^policy file '.*' is damaged$"):
        rc.load_policy(saved, MODEL)


def nested(depth: int) -> Any:
    return MixturePolicy([nested(depth - 1)], [1.0]) if depth else RandomPolicy(MODEL)


def test_mixtures_in_mixtures_have_a_limit(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "deep.rcp"
    rc.save_policy(path, nested(20), MODEL)
    rc.load_policy(path, MODEL)
    assert rc.io.policy_info(path)["policy"]["kind"] == "mixture"
    for depth in (21, 300):
        with pytest.raises(rc.PolicyError, match="^mixtures, claims or parameters are nested too deeply$"):
            rc.save_policy(tmp_path / "deeper.rcp", nested(depth), MODEL)
    assert not (tmp_path / "deeper.rcp").exists()
    tree: Any = {"kind": "random"}
    for _ in range(21):
        tree = {"kind": "mixture", "weights": 0, "policies": [tree]}
    rewritten(saved, policy=tree)
    with pytest.raises(rc.PolicyError, match="^policy file '.*': mixtures, claims .* are nested too deeply$"):
        rc.io.policy_info(saved)


def test_claims_in_claims_have_a_limit(saved: Path, tmp_path: Path) -> None:
    claim: Any = 1
    for _ in range(200):
        claim = [claim]
    with pytest.raises(rc.PolicyError, match="nested too deeply$"):
        rc.save_policy(tmp_path / "x.rcp", RandomPolicy(MODEL), MODEL, claims={"x": claim})
    with pytest.raises(rc.PolicyError, match="nested too deeply$"):
        rc.io.policy_info(rewritten(saved, claims={"x": claim}))


@pytest.mark.parametrize(
    ("limit", "value", "saving", "loading"),
    [
        ("tree._MOST_PARTS", 2, "is a mixture of more than 2 parts$", "is a mixture of more than 2 parts$"),
        ("archive._LONGEST_HEADER", 99, "take more than 99 letters$", "entry 'policy.json' has more than 99 bytes$"),
        ("archive._MOST_BYTES", 50, "more than the 50 bytes that a policy file may have$", "more than 50 bytes$"),
    ],
)
def test_sizes_are_checked_before_anything_of_that_size_is_made(
    limit: str, value: int, saving: str, loading: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, before = rc.load_policy(saved, MODEL), saved.read_bytes()
    monkeypatch.setattr(f"rcpomdp.io.policy.{limit}", value)
    with pytest.raises(rc.PolicyError, match=saving):
        rc.save_policy(saved, policy, MODEL)
    assert saved.read_bytes() == before
    with pytest.raises(rc.PolicyError, match=loading):
        rc.load_policy(saved, MODEL)


def test_a_lack_of_memory_is_one_sentence(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("rcpomdp.io.archive.Archive.array", no_room)
    with pytest.raises(rc.PolicyError, match="^policy file '.*' needs more memory than there is$"):
        rc.load_policy(saved, MODEL)


@pytest.mark.parametrize("budget", ["1" + "0" * 400, "1e999", "-1", "true", '"3"'])
def test_a_budget_that_is_none_is_not_told(budget: str, saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        header = json.loads(archive.read("policy.json"))
    header["model"]["budget"] = ["BUDGET"]
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("policy.json", json.dumps(header).replace('"BUDGET"', budget))
    with pytest.raises(rc.PolicyError, match="^policy file '.*' is damaged$"):
        rc.io.policy_info(saved)


def test_a_number_without_a_shape_is_no_array(saved: Path) -> None:
    rewritten(saved, entries={"1.npy": npy(np.array(1.0))})
    with pytest.raises(rc.PolicyError, match="^policy file '.*': array 1 has an unknown layout$"):
        rc.load_policy(saved, MODEL)


def test_links_and_pipes_are_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with whole_file(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    with whole_file(pipe) as file:
        file.write(b"through")
    assert reader.communicate(timeout=30)[0] == b"through"
    assert pipe.is_fifo()


def test_a_policy_for_another_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(rc.PolicyError, match="^1 actions need vectors|^2 actions need vectors"):
        rc.save_policy(tmp_path / "x.rcp", rc.policies.fib(rc.problems.make("ce")), MODEL)
    assert not (tmp_path / "x.rcp").exists()
