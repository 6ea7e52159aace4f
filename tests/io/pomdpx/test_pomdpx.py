"""PomdpX files: what each form means, round trips of all problems, and what is refused with which words."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rcpomdp as rc
from factored_models import random_factored
from rcpomdp.io import read_pomdpx, write_pomdpx
from strategies import Dense, cpomdps, rngs

DATA = Path(__file__).parents[2] / "data" / "pomdpx"
MESSAGES = json.loads((DATA / "bad" / "messages.json").read_text())
# 247,809 states: 400 MB of text and minutes to read; they differ from the smaller maps in size alone.
LARGE = {"crs-11-11", "rs-11-11"}


def assert_same(found: rc.CPOMDP, model: rc.CPOMDP) -> None:
    """Bit by bit the same arrays, and labels as texts."""
    for a, b in zip(found.arrays, model.arrays, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
        assert np.shape(a) == np.shape(b)
    assert found.initial_belief.tobytes() == model.initial_belief.tobytes()
    assert found.fingerprint == model.fingerprint
    assert found.discount == model.discount
    assert found.budget.tolist() == model.budget.tolist()
    assert found.terminal.tolist() == model.terminal.tolist()
    assert found.name == model.name
    for kind in ("states", "actions", "observations", "costs"):
        told, kept = getattr(found.without_time(), kind), getattr(model.without_time(), kind)
        assert list(told) == [str(label) for label in kept]


def again(model: rc.CPOMDP, folder: Path) -> rc.CPOMDP:
    write_pomdpx(folder / "again.pomdpx", model)
    return read_pomdpx(folder / "again.pomdpx")


# What each form means


def test_a_rover_whose_place_is_seen_is_the_model_built_by_hand() -> None:
    rover, rock = ["s0", "s1", "s2"], ["good", "bad"]
    moves = {"s0": {"s0": 0.5, "s1": 0.5}, "s1": {"s0": 0.1, "s1": 0.2, "s2": 0.7}, "s2": {"s2": 1.0}}

    def transition(s: str, a: str) -> dict[str, float]:
        place, kind = s.split(",")
        if a == "move":
            return {f"{there},{kind}": p for there, p in moves[place].items()}
        return {"s0,bad": 1.0} if a == "sample" and place == "s0" else {s: 1.0}

    def observation(a: str, s: str) -> dict[str, float]:
        place, kind = s.split(",")
        right = {"s0": 1.0, "s1": 0.8}.get(place, 0.5) if a == "check" else 0.5
        good = right if kind == "good" else 1 - right
        return {f"{place},ogood": good, f"{place},obad": 1 - good}

    def reward(s: str, a: str, s_next: str, o: str) -> float:
        place, kind = s.split(",")
        sampled = {"s0": 10.0 if kind == "good" else -10.0, "s1": -100.0, "s2": 0.0}[place] if a == "sample" else 0.0
        arrived = 10.0 if a == "move" and s_next.startswith("s2") else 0.0
        return sampled + arrived + (0.5 if a == "check" and o.endswith("ogood") else 0.0)

    by_hand = rc.CPOMDP.from_functions(
        states=[f"{x},{y}" for x in rover for y in rock],
        actions=["move", "check", "sample"],
        observations=[f"{x},{o}" for x in rover for o in ("ogood", "obad")],
        transition=transition,
        observation=observation,
        reward=reward,
        initial={"s1,good": 0.5, "s1,bad": 0.5},
        discount=0.95,
    )
    found = read_pomdpx(DATA / "good" / "rover.pomdpx")
    assert found.name == "rover"
    for kind in ("states", "actions", "observations"):
        assert list(getattr(found, kind)) == list(getattr(by_hand, kind))
    for a in range(3):
        np.testing.assert_allclose(found.transition[a].toarray(), by_hand.transition[a].toarray(), atol=1e-15)
        np.testing.assert_allclose(found.observation[a].toarray(), by_hand.observation[a].toarray(), atol=1e-15)
    np.testing.assert_allclose(found.reward, by_hand.reward, atol=1e-13)
    assert found.initial_belief.tolist() == by_hand.initial_belief.tolist()
    assert (found.discount, found.n_costs) == (0.95, 0)


def test_tiger_with_instructions_of_ours_is_the_problem_tiger() -> None:
    found, tiger = read_pomdpx(DATA / "good" / "tiger.pomdpx"), rc.problems.make("tiger")
    for a in range(3):
        assert found.transition[a].toarray().tolist() == tiger.transition[a].toarray().tolist()
        np.testing.assert_allclose(found.observation[a].toarray(), tiger.observation[a].toarray(), atol=1e-15)
    assert (found.reward.tolist(), found.cost.tolist()) == (tiger.reward.tolist(), tiger.cost.tolist())
    assert (found.name, list(found.costs), found.budget.tolist()) == ("C-Tiger", ["listening"], [3.0])
    assert list(found.states) == list(tiger.states)


def test_parents_after_the_step_and_several_actions_and_no_observation_variable() -> None:
    found = read_pomdpx(DATA / "good" / "mdp.pomdpx")
    names = ["a,b s0", "a,b s1", "c s0", "c s1"]  # a value has a comma, so a space stands between values
    assert list(found.states) == list(found.observations) == names
    assert list(found.actions) == ["a0,go", "a0,stop", "a1,go", "a1,stop"]
    assert found.initial_belief.tolist() == [0.125, 0.375, 0.0, 0.5]
    # x' = a,b keeps y; x' = c sets y' to the hand.
    assert found.transition[0].toarray().tolist() == [[0.25, 0, 0.75, 0], [0, 0.25, 0.75, 0]] * 2
    assert found.transition[3].toarray().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert all((z.toarray() == np.eye(4)).all() for z in found.observation)
    assert found.reward.tolist() == [[0, 1, 3, 1], [1, 2, 4, 2], [0, 1, 3, 2], [1, 1, 4, 2]]


def test_nothing_to_observe_is_one_observation(tmp_path: Path) -> None:
    text = (DATA / "good" / "mdp.pomdpx").read_text().replace(' fullyObs="true"', "")
    (tmp_path / "x.pomdpx").write_text(text)
    found = read_pomdpx(tmp_path / "x.pomdpx")
    assert list(found.observations) == ["none"]
    assert all((z.toarray() == 1).all() for z in found.observation)


def test_labels_of_a_factored_model_go_to_other_processes() -> None:
    found = read_pomdpx(DATA / "good" / "rover.pomdpx")
    assert list(pickle.loads(pickle.dumps(found)).states) == list(found.states)


# Round trips


@pytest.mark.parametrize("name", [name for name in rc.problems.names() if name not in LARGE])
def test_every_problem_comes_back_bit_by_bit(name: str, tmp_path: Path) -> None:
    model = rc.problems.make(name)
    assert_same(again(model, tmp_path), model)


@pytest.mark.parametrize("path", sorted((DATA / "good").iterdir()), ids=lambda path: path.stem)
def test_what_was_read_comes_back_bit_by_bit(path: Path, tmp_path: Path) -> None:
    model = read_pomdpx(path)
    assert_same(again(model, tmp_path), model)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(cpomdps())
def test_random_models_come_back_bit_by_bit(tmp_path_factory: pytest.TempPathFactory, case: Dense) -> None:
    assert_same(again(case.model, tmp_path_factory.mktemp("x")), case.model)


def test_strange_labels_signs_and_numbers_come_back(tmp_path: Path) -> None:
    model = rc.CPOMDP(
        transition=[[[1, 0], [1e-17, 1]], [[1 / 3, 2 / 3], [0.1, 0.9]]],
        observation=[[[0.5, 0.5]] * 2, [[1.0, 0.0], [0.1 + 0.2, 0.7]]],
        reward=[[-0.0, 5e-324], [1.7976931348623157e308, -0.1]],
        cost=[[[-0.0, 0.1], [1e-300, 0]], [[0, 0], [0, 3]]],
        initial_belief=[1.0, -0.0],
        discount=1 - np.exp(-14),
        budget=[None, 0.1],
        states=["a b", ("tuple", 1)],
        actions=["<&\"'>", "-"],
        observations=["bell \a", "?>\n"],
        costs=["x -> y", "]]>"],
        name='in "quotes" & \u00e4 -- ?> \x00',
    )
    write_pomdpx(tmp_path / "x.pomdpx", model)
    assert_same(read_pomdpx(tmp_path / "x.pomdpx"), model)


def test_labels_that_are_the_same_as_texts_are_numbered(tmp_path: Path) -> None:
    model = rc.CPOMDP(
        transition=[np.eye(2)], observation=[np.eye(2)], reward=[[1], [2]], initial_belief=[1, 0], discount=0.5,
        states=[1, "1"], observations=["o0", "o1"],
    )  # fmt: skip
    found = again(model, tmp_path)
    assert list(found.states) == ["s0", "s1"]
    assert found.fingerprint == model.fingerprint


def test_a_flat_model_may_fill_each_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays, is told alike and pays alike everywhere is a line in the file, and still counts by state."""
    n, m = 30, 20
    model = rc.CPOMDP(
        transition=[np.eye(n)] * m, observation=[np.ones((n, 1))] * m, reward=np.ones((n, m)),
        initial_belief=np.full(n, 1 / n), discount=0.5,
    )  # fmt: skip
    for limit in ("tables.MOST_CELLS", "flatten.MOST_CELLS", "writer.MOST_CELLS"):
        monkeypatch.setattr(f"rcpomdp.io.pomdpx.{limit}", n * m)
    assert_same(again(model, tmp_path), model)


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("MOST_STATES", "the model has 2 states, more than the 1 that a .pomdpx file may have"),
        ("MOST_ROWS", "the model has 6 pairs of state and action, more than the 1 that a .pomdpx file may have"),
        ("MOST_NUMBERS", "the model has 6 costs of states and actions, more than the 1 that a .pomdpx file may have"),
        (
            "MOST_CELLS",
            "the model has 12 entries of the transition table, more than the 1 that a .pomdpx file may have",
        ),
        ("LONGEST_TOKEN", "the labels take more than the 1 letters that a .pomdpx file may have"),
    ],
)
def test_what_could_not_be_read_is_not_written(
    limit: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"rcpomdp.io.pomdpx.writer.{limit}", 1)
    with pytest.raises(rc.ModelError) as complaint:
        write_pomdpx(tmp_path / "x.pomdpx", rc.problems.make("tiger"))
    assert str(complaint.value) == sentence
    assert not list(tmp_path.iterdir())


def one_state(**labels: list[object]) -> rc.CPOMDP:
    """A model with costs as many as named."""
    n_costs = len(labels.get("costs", []))
    return rc.CPOMDP(
        transition=[[[1.0]]], observation=[[[1.0]]], reward=[[1.0]], initial_belief=[1.0], discount=0.5,
        cost=np.ones((n_costs, 1, 1)) if n_costs else None, **labels,
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["pomdp", "pomdpx"])
@pytest.mark.parametrize(
    "labels",
    [
        {"costs": [f"c{k}" for k in range(101)]},
        {"costs": ["c" * 1001]},
        {"costs": ["c " * 1001]},
        *({kind: ["x" * 1001]} for kind in ("states", "actions", "observations")),
        {"states": [((((((((1,),),),),),),),)]},
    ],
    ids=["101 costs", "long cost", "long cost with spaces", "long state", "long action", "long observation", "tuples"],
)
def test_many_costs_and_long_labels_come_back(ending: str, labels: dict[str, list[object]], tmp_path: Path) -> None:
    model, path = one_state(**labels), tmp_path / f"x.{ending}"
    rc.save_model(path, model)
    found = rc.load_model(path)
    assert found.fingerprint == model.fingerprint
    for kind in ("states", "actions", "observations", "costs"):
        assert list(map(str, getattr(found, kind))) == list(map(str, getattr(model, kind)))


def nested(depth: int) -> object:
    return (nested(depth - 1),) if depth else 1


@pytest.mark.parametrize(
    ("ending", "label", "sentence"),
    [
        ("pomdp", 10**5000, "a state label has too many digits to stand in a file"),
        ("pomdpx", 10**5000, "a state label has too many digits or tuples in it to stand in a file"),
        ("pomdp", nested(9), "a state label has more than 8 tuples in tuples, too many to stand in a file"),
    ],
    ids=["number", "number in XML", "tuples"],
)
def test_labels_that_no_file_can_hold_are_refused(ending: str, label: object, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(rc.ModelError) as complaint:
        rc.save_model(tmp_path / f"x.{ending}", one_state(states=[label]))
    assert str(complaint.value) == sentence
    assert not list(tmp_path.iterdir())


def test_other_readers_see_a_plain_pomdp(tmp_path: Path) -> None:
    """By a reader of its own: one reward, no instruction inside the root, no ">" inside an instruction."""
    from xml.etree import ElementTree as ET

    model = rc.problems.make("tunnels").with_budget(2)
    write_pomdpx(tmp_path / "x.pomdpx", model)
    text = (tmp_path / "x.pomdpx").read_text()
    root = ET.fromstring(text)
    assert [v.get("vname") for v in root.iter("RewardVar")] == ["reward"]
    assert [v.tag for v in root] == [
        *("Discount", "Variable", "InitialStateBelief", "StateTransitionFunction", "ObsFunction", "RewardFunction"),
    ]
    before, after = text.split("</pomdpx>")
    assert before.count("<?") == 2  # the XML declaration, and the costs' names
    in_front = before.splitlines()[1]
    for line in [in_front, *after.strip().splitlines()]:
        assert line.startswith("<?rcpomdp")
        assert line.index(">") == len(line) - 1


# What is refused


@pytest.mark.parametrize("name", MESSAGES)
def test_malformed_files_are_refused_with_a_sentence(name: str) -> None:
    path = DATA / "bad" / f"{name}.pomdpx"
    with pytest.raises(rc.ModelFileError) as complaint:
        read_pomdpx(path)
    assert str(complaint.value) == f"{str(path)!r}, {MESSAGES[name]}"


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    write_pomdpx(tmp_path / "x.pomdpx", rc.problems.make("tiger"))
    whole = (tmp_path / "x.pomdpx").read_bytes().rstrip()
    for length in range(len(whole)):
        (tmp_path / "x.pomdpx").write_bytes(whole[:length])
        with pytest.raises(rc.ModelFileError):
            read_pomdpx(tmp_path / "x.pomdpx")


def test_every_malformed_file_has_its_message() -> None:
    assert {path.stem for path in (DATA / "bad").glob("*.pomdpx")} == MESSAGES.keys()
    assert len(MESSAGES) >= 30


@pytest.mark.parametrize(
    ("limit", "value", "file", "sentence"),
    [
        ("flatten.MOST_CELLS", 23, "rover", "line 42: with 'rover_1' there are more than 23 possible outcomes"),
        ("flatten.MOST_CELLS", 45, "rover", "line 84: with 'toll' there are more than 45 possible outcomes"),
        ("tables._MOST_WORK", 40, "tiger", "line 24: the entries of 'sound' have too many different forms"),
        ("tables._MOST_COLUMNS", 2, "tiger", "line 17: the table of 'tiger_1' has too many parents to be held"),
        ("pragma.MOST_NUMBERS", 5, "tiger", "line 2: the costs are more than 5 numbers"),
    ],
)
def test_what_would_outgrow_memory_or_time_is_refused(
    limit: str, value: int, file: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"rcpomdp.io.pomdpx.{limit}", value)
    with pytest.raises(rc.ModelError) as complaint:
        read_pomdpx(DATA / "good" / f"{file}.pomdpx")
    assert str(complaint.value).endswith(f", {sentence}")


@pytest.mark.parametrize(
    ("limit", "value", "new", "sentence"),
    [
        (
            "LONGEST_TOKEN",
            10**5,
            f"<!--{'x' * 300_000}-->",
            "a comment, tag or instruction has more than 100,000 bytes",
        ),
        ("_LONGEST_TEXT", 1000, f"<Description>{'x' * 5000}</Description>", "an element has more than 1,000 letters"),
        ("_DEEPEST", 50, f"<Description>{'<a>' * 60}", "the elements are nested too deeply"),
    ],
    ids=["comment", "text", "depth"],
)
def test_xml_that_goes_on_and_on_is_refused(
    limit: str, value: int, new: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"rcpomdp.io.safe_xml.{limit}", value)
    (tmp_path / "x.pomdpx").write_text(GOOD["tiger"].replace("<Discount>", f"{new}\n<Discount>"))
    with pytest.raises(rc.ModelFileError, match=f"^'.*x.pomdpx', line 4: {sentence}$"):
        read_pomdpx(tmp_path / "x.pomdpx")


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 1_000_000])
def test_a_long_comment_changes_nothing(size: int, tmp_path: Path) -> None:
    (tmp_path / "x.pomdpx").write_text(GOOD["tiger"].replace("<Discount>", f"<!--{'x' * size}--><Discount>"))
    assert_same(read_pomdpx(tmp_path / "x.pomdpx"), read_pomdpx(DATA / "good" / "tiger.pomdpx"))


def test_a_lack_of_memory_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("rcpomdp.io.pomdpx.reader.flatten", no_room)
    with pytest.raises(rc.ModelFileError, match="^'.*tiger.pomdpx' needs more memory than there is$"):
        read_pomdpx(DATA / "good" / "tiger.pomdpx")


def test_rewards_that_add_up_to_infinity_are_refused(tmp_path: Path) -> None:
    text = (DATA / "good" / "rover.pomdpx").read_text().replace("<ValueTable>10<", "<ValueTable>1.7e308<")
    text = text.replace("action rover_1 sensor", "action rover_0 rock_0").replace("move s2 *", "sample s0 good")
    (tmp_path / "x.pomdpx").write_text(text.replace("check * ogood", "check * *"))
    with pytest.raises(
        rc.ModelError, match="^'.*x.pomdpx': reward of state 's0,good' under action 'sample' is infinite$"
    ):
        read_pomdpx(tmp_path / "x.pomdpx")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rc.ModelError, match="^model file '.*none.pomdpx' does not exist$"):
        read_pomdpx(tmp_path / "none.pomdpx")
    with pytest.raises(rc.ModelError, match="^'.*' is not a file$"):
        read_pomdpx(tmp_path)
    with pytest.raises(rc.InputError, match="^cannot write .*: No such file or directory$"):
        write_pomdpx(tmp_path / "no" / "x.pomdpx", rc.problems.make("tiger"))


# Random files


@settings(derandomize=True, deadline=None, max_examples=150)
@given(rngs().map(random_factored))
def test_random_factored_models_mean_what_was_meant(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, dict[str, np.ndarray]]
) -> None:
    text, meant = case
    path = tmp_path_factory.mktemp("x") / "x.pomdpx"
    path.write_text(text)
    model = read_pomdpx(path)
    np.testing.assert_allclose([t.toarray() for t in model.transition], meant["T"], atol=1e-12)
    np.testing.assert_allclose([z.toarray() for z in model.observation], meant["Z"], atol=1e-12)
    np.testing.assert_allclose(model.reward, meant["R"], atol=1e-12)
    np.testing.assert_allclose(model.initial_belief, meant["b"], atol=1e-12)


GOOD = {path.stem: path.read_text() for path in (DATA / "good").iterdir()}


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.data())
def test_corruption_is_refused_or_still_a_model(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Cut, doubled or changed anywhere: one sentence, or a model that is valid and comes back."""
    text = GOOD[data.draw(st.sampled_from(sorted(GOOD)), label="file")]
    i = data.draw(st.integers(0, len(text) - 1), label="from")
    j = min(len(text), i + data.draw(st.integers(0, 60), label="length"))
    piece = data.draw(
        st.one_of(st.just(""), st.just(text[i:j] * 2), st.text("<>/&*- .0123456789ase\"'=?!", max_size=8)), label="new"
    )
    folder = tmp_path_factory.mktemp("x")
    (folder / "x.pomdpx").write_text(text[:i] + piece + text[j:])
    sentence = "none"
    try:
        model = read_pomdpx(folder / "x.pomdpx")
    except rc.InputError as complaint:
        model, sentence = None, str(complaint)
    assert sentence
    assert "\n" not in sentence
    if model is not None:
        assert_same(again(model, folder), model)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.data())
def test_a_letter_changed_in_a_name_never_passes_for_another_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """In the names of elements, attributes, variables and values, a wrong letter is noticed or means nothing."""
    text = GOOD["tiger"][GOOD["tiger"].index("<pomdpx") : GOOD["tiger"].index("<?rcpomdp-cost")]
    places = [i for i, c in enumerate(text) if c.isalpha()]
    at = data.draw(st.sampled_from(places), label="at")
    folder = tmp_path_factory.mktemp("x")
    (folder / "x.pomdpx").write_text(text[:at] + "q" + text[at + 1 :])
    (folder / "good.pomdpx").write_text(text)
    try:
        model = read_pomdpx(folder / "x.pomdpx")
    except rc.ModelError:
        return
    assert model.fingerprint == read_pomdpx(folder / "good.pomdpx").fingerprint
