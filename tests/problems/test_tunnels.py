"""The model entry by entry, from the prose of the definition and with none of the builder's code."""

import math

import pytest

import rcpomdp as rc
from rcpomdp.problems.tunnels import tunnels

TERRAIN = ["rocky", "clear"]
PLACES = ["hall"] + [f"tunnel-{t}-cell-{c}" for t in (1, 2, 3) for c in (1, 2, 3, 4)]

FORWARD = {
    "hall": "tunnel-2-cell-1",
    "tunnel-1-cell-1": "tunnel-1-cell-2",
    "tunnel-1-cell-2": "tunnel-1-cell-3",
    "tunnel-1-cell-3": "tunnel-1-cell-4",
    "tunnel-2-cell-1": "tunnel-2-cell-2",
    "tunnel-2-cell-2": "tunnel-2-cell-3",
    "tunnel-2-cell-3": "tunnel-2-cell-4",
    "tunnel-3-cell-1": "tunnel-3-cell-2",
    "tunnel-3-cell-2": "tunnel-3-cell-3",
    "tunnel-3-cell-3": "tunnel-3-cell-4",
}
BACK = {
    "tunnel-1-cell-1": "hall",
    "tunnel-1-cell-2": "tunnel-1-cell-1",
    "tunnel-1-cell-3": "tunnel-1-cell-2",
    "tunnel-2-cell-1": "hall",
    "tunnel-2-cell-2": "tunnel-2-cell-1",
    "tunnel-2-cell-3": "tunnel-2-cell-2",
    "tunnel-3-cell-1": "hall",
    "tunnel-3-cell-2": "tunnel-3-cell-1",
    "tunnel-3-cell-3": "tunnel-3-cell-2",
}
MOVES = {
    "forward": FORWARD,
    "left": {**BACK, "hall": "tunnel-1-cell-1"},
    "right": {**BACK, "hall": "tunnel-3-cell-1"},
}
PRIZES = {"tunnel-1-cell-4": 2.0, "tunnel-2-cell-4": 1.5, "tunnel-3-cell-4": 0.5}
ROCKS_OF_1 = {"tunnel-1-cell-2", "tunnel-1-cell-3"}
ROCKS_OF_2 = {"tunnel-2-cell-2", "tunnel-2-cell-3"}
SHOWS_1 = {"tunnel-1-cell-1", "tunnel-1-cell-2"}
SHOWS_2 = {"tunnel-2-cell-1", "tunnel-2-cell-2"}


def labelled_states():
    return [(place, one, two) for place in PLACES for one in TERRAIN for two in TERRAIN]


def row(matrix, i, labels):
    """The positive entries of a row by label."""
    dense = matrix.toarray()[i]
    return {labels[j]: p for j, p in enumerate(dense) if p > 0}


def test_labels_and_sizes():
    model = tunnels()
    assert model.name == "tunnels"
    assert set(model.states) == {" ".join(state) for state in labelled_states()} | {"out"}
    assert list(model.actions) == ["left", "forward", "right"]
    assert list(model.observations) == ["none", "rocky-1", "clear-1", "rocky-2", "clear-2"]
    assert (model.n_states, model.n_actions, model.n_observations) == (53, 3, 5)


def test_every_transition():
    model = tunnels()
    for place, one, two in labelled_states():
        s = model.states.index(f"{place} {one} {two}")
        for action, moves in MOVES.items():
            successor = f"{moves[place]} {one} {two}" if place in moves else "out"
            assert (place in moves) == (place not in PRIZES)
            assert row(model.transition[model.actions.index(action)], s, model.states) == {successor: 1.0}


@pytest.mark.parametrize("back_cost", [0.5, 1.0])
def test_every_reward_and_cost(back_cost):
    model = tunnels(back_cost=back_cost)
    for place, one, two in labelled_states():
        s = model.states.index(f"{place} {one} {two}")
        rocks = (place in ROCKS_OF_1 and one == "rocky") or (place in ROCKS_OF_2 and two == "rocky")
        for action in MOVES:
            a = model.actions.index(action)
            back = action in {"left", "right"} and place in BACK
            assert model.reward[s, a] == PRIZES.get(place, 0.0)
            assert model.cost[0, s, a] == (1.0 if rocks else 0.0) + (back_cost if back else 0.0)


@pytest.mark.parametrize("p_correct", [0.8, 0.95])
def test_every_observation(p_correct):
    model = tunnels(p_correct=p_correct)
    other = {"rocky": "clear", "clear": "rocky"}
    for place, one, two in labelled_states():
        s = model.states.index(f"{place} {one} {two}")
        expected = {"none": 1.0}
        if place in SHOWS_1:
            expected = {f"{one}-1": p_correct, f"{other[one]}-1": 1 - p_correct}
        if place in SHOWS_2:
            expected = {f"{two}-2": p_correct, f"{other[two]}-2": 1 - p_correct}
        for a in range(3):
            assert row(model.observation[a], s, model.observations) == pytest.approx(expected)


def test_the_end_is_terminal_and_shows_nothing():
    model = tunnels()
    out = model.states.index("out")
    assert [s for s in range(53) if model.terminal[s]] == [out]
    for a in range(3):
        assert row(model.transition[a], out, model.states) == {"out": 1.0}
        assert row(model.observation[a], out, model.observations) == {"none": 1.0}


def test_start_discount_and_budget():
    model = tunnels()
    start = {model.states[s]: p for s, p in enumerate(model.initial_belief) if p > 0}
    assert start == pytest.approx(
        {
            "hall rocky rocky": 0.32,
            "hall rocky clear": 0.48,
            "hall clear rocky": 0.08,
            "hall clear clear": 0.12,
        }
    )
    assert model.discount == 0.99
    assert model.budget.tolist() == [1]
    assert tunnels(budget=None).budget.tolist() == [math.inf]


@pytest.mark.parametrize(
    ("entry", "value", "cost"),
    [
        # prize · γ⁴, and P(rocky) · (γ² + γ³)
        ("left", 2.0 * 0.99**4, 0.8 * (0.99**2 + 0.99**3)),
        ("forward", 1.5 * 0.99**4, 0.4 * (0.99**2 + 0.99**3)),
        ("right", 0.5 * 0.99**4, 0.0),
    ],
)
def test_straight_through_a_tunnel(entry, value, cost):
    model = tunnels()
    belief, total, spent = model.initial_belief, 0.0, 0.0
    for t, action in enumerate([entry, "forward", "forward", "forward", "forward"]):
        a = model.actions.index(action)
        total += 0.99**t * (belief @ model.reward[:, a])
        spent += 0.99**t * (belief @ model.cost[0, :, a])
        belief = belief @ model.transition[a].toarray()
    assert total == pytest.approx(value, abs=1e-12)
    assert spent == pytest.approx(cost, abs=1e-12)
    assert belief[model.states.index("out")] == pytest.approx(1)


# The map with rising accuracy

RISING_MOVES = {
    "forward": FORWARD,
    "left": {**dict.fromkeys(BACK, "hall"), "hall": "tunnel-1-cell-1"},
    "right": {**dict.fromkeys(BACK, "hall"), "hall": "tunnel-3-cell-1"},
}
ENTERS_ROCKS_OF = {"tunnel-1-cell-2": 0, "tunnel-1-cell-3": 0, "tunnel-2-cell-2": 1, "tunnel-2-cell-3": 1}


def test_every_entry_of_the_rising_map_but_looks():
    model, plain = tunnels(map="rising"), tunnels()
    assert model.name == "tunnels-rising"
    assert list(model.states) == list(plain.states)
    assert model.initial_belief.tolist() == plain.initial_belief.tolist()
    assert model.reward.tolist() == plain.reward.tolist()
    for place, *terrain in labelled_states():
        s = model.states.index(" ".join([place, *terrain]))
        for action, moves in RISING_MOVES.items():
            a = model.actions.index(action)
            successor = " ".join([moves[place], *terrain]) if place in moves else "out"
            assert row(model.transition[a], s, model.states) == {successor: 1.0}
            rocks = action == "forward" and place in ENTERS_ROCKS_OF and terrain[ENTERS_ROCKS_OF[place]] == "rocky"
            back = action != "forward" and place in BACK
            assert model.cost[0, s, a] == 1.0 * rocks + 0.5 * back


@pytest.mark.parametrize(
    ("p_correct", "right"),
    [(0.8, {1: 0.7, 2: 0.75, 3: 0.85}), (0.95, {1: 0.85, 2: 0.9, 3: 1.0}), (0, {1: 0, 2: 0, 3: 0.05})],
)
def test_looks_of_the_rising_map(p_correct, right):
    model = tunnels(p_correct=p_correct, map="rising")
    other = {"rocky": "clear", "clear": "rocky"}
    for place, *terrain in labelled_states():
        s = model.states.index(" ".join([place, *terrain]))
        words = place.split("-")
        expected = {"none": 1.0}
        if place != "hall" and words[1] in "12" and words[3] in "123":
            seen, p = terrain[int(words[1]) - 1], right[int(words[3])]
            expected = {f"{seen}-{words[1]}": p, f"{other[seen]}-{words[1]}": 1 - p}
        for a in range(3):
            assert row(model.observation[a], s, model.observations) == pytest.approx(
                {o: p for o, p in expected.items() if p > 1e-15}
            )


def test_an_unknown_map_is_refused():
    with pytest.raises(rc.ModelError, match="^unknown map 'risng'; did you mean 'rising'"):
        tunnels(map="risng")
