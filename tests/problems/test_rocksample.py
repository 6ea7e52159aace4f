import math
import pickle

import numpy as np
import pytest

from rcpomdp.errors import ModelError
from rcpomdp.problems.layouts import LAYOUTS
from rcpomdp.problems.rocksample import ACTIONS, SAMPLE, rocksample

MAPS = [  # n, rocks, start: a middling map, one without rocks, one of a single cell, rocks on every edge
    (3, ((1, 1), (3, 2)), (2, 3)),
    (2, (), (1, 2)),
    (1, ((1, 1),), (1, 1)),
    (4, ((4, 4), (1, 3), (2, 1)), (4, 1)),
]


def label(cell, goods):
    return " ".join([f"({cell[0]},{cell[1]})", *("good" if good else "bad" for good in goods)])


def split(text, k):
    """A state's cell and rocks, read from its label."""
    place, *goods = text.split(" ")
    x, y = place.strip("()").split(",")
    assert len(goods) == k
    return (int(x), int(y)), [good == "good" for good in goods]


def reference_step(n, rocks, state, action):
    """Successor, reward, cost and distribution over what is seen, for one state and action."""
    if state == "terminal":
        return "terminal", 0.0, 0.0, {"none": 1.0}
    (x, y), goods = split(state, len(rocks))
    if action == "sample":
        for i, rock in enumerate(rocks):
            if rock == (x, y):
                after = list(goods)
                after[i] = False
                pay, cost = (10.0, 0.0) if goods[i] else (-10.0, 1.0)
                return label((x, y), after), pay, cost, {"none": 1.0}
        return state, 0.0, 0.0, {"none": 1.0}
    if action.startswith("check-"):
        i = int(action.removeprefix("check-")) - 1
        distance = math.sqrt((x - rocks[i][0]) ** 2 + (y - rocks[i][1]) ** 2)
        right = (1 + 2 ** (-distance / 20)) / 2
        truth, lie = ("good", "bad") if goods[i] else ("bad", "good")
        return state, 0.0, 1.0, {truth: right, lie: 1 - right}
    if action == "east" and x == n:
        return "terminal", 10.0, 0.0, {"none": 1.0}
    if action == "east":
        x += 1
    elif action == "west" and x > 1:
        x -= 1
    elif action == "north" and y < n:
        y += 1
    elif action == "south" and y > 1:
        y -= 1
    return label((x, y), goods), 0.0, 0.0, {"none": 1.0}


@pytest.mark.parametrize(("n", "rocks", "start"), MAPS)
def test_every_state_and_action_agrees_with_a_slow_reference(n, rocks, start):
    model = rocksample(n=n, rocks=rocks, start=start)
    k = len(rocks)
    assert model.n_states == n * n * 2**k + 1
    assert list(model.actions) == [
        *("sample", "north", "east", "south", "west"),
        *(f"check-{i}" for i in range(1, k + 1)),
    ]
    assert list(model.observations) == ["good", "bad", "none"]
    assert model.states[model.n_states - 1] == "terminal"
    assert len(set(model.states)) == model.n_states
    for a, action in enumerate(model.actions):
        t, z = model.transition[a].toarray(), model.observation[a].toarray()
        for s, state in enumerate(model.states):
            successor, reward, cost, seen = reference_step(n, rocks, state, action)
            after = model.states.index(successor)
            assert t[s, after] == 1
            assert np.count_nonzero(t[s]) == 1
            assert model.reward[s, a] == reward
            assert model.cost[0, s, a] == cost
            # Moves and samples show nothing wherever they end; a check stays, so s' is s.
            arrival = z[after]
            expected = [seen.get(o, 0.0) for o in ("good", "bad", "none")]
            assert arrival == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("n", "rocks", "start"), MAPS)
def test_terminal_state_and_initial_belief(n, rocks, start):
    model = rocksample(n=n, rocks=rocks, start=start)
    end = model.n_states - 1
    assert np.flatnonzero(model.terminal).tolist() == [end]
    for z in model.observation:
        assert z.toarray()[end].tolist() == [0, 0, 1]
    likely = np.flatnonzero(model.initial_belief)
    assert len(likely) == 2 ** len(rocks)
    assert {split(model.states[s], len(rocks))[0] for s in likely} == {start}
    assert model.initial_belief[likely] == pytest.approx(0.5 ** len(rocks))


def test_a_check_at_the_rock_is_never_wrong():
    model = rocksample()
    check = model.observation[model.actions.index("check-1")]
    s = model.states.index("(1,1) good bad bad")
    assert check.toarray()[s].tolist() == [1, 0, 0]
    assert check[[s]].nnz == 1


def test_other_rewards_costs_and_reach():
    model = rocksample(
        half_distance=3.0,
        good_reward=7.0,
        bad_reward=-3.0,
        exit_reward=2.0,
        check_cost=0.25,
        bad_sample_cost=0.5,
        discount=0.9,
        budget=4.0,
        name="my map",
    )
    good, bad = model.states.index("(3,3) bad good bad"), model.states.index("(3,3) good bad good")
    assert (model.reward[good, 0], model.cost[0, good, 0]) == (7, 0)
    assert (model.reward[bad, 0], model.cost[0, bad, 0]) == (-3, 0.5)
    assert model.reward[model.states.index("(5,2) bad bad bad"), model.actions.index("east")] == 2
    assert model.cost[0, good, model.actions.index("check-3")] == 0.25
    far = model.states.index("(1,4) good bad bad")  # three cells north of rock 1
    assert model.observation[model.actions.index("check-1")].toarray()[far] == pytest.approx([0.75, 0.25, 0])
    assert (model.discount, model.budget.tolist(), model.name) == (0.9, [4], "my map")


def test_separate_costs_add_up_to_the_one_there_was():
    one, two = rocksample(), rocksample(separate=True, budget=(2.0, 0.5))
    np.testing.assert_array_equal(two.cost.sum(axis=0), one.cost[0])
    assert list(two.costs) == ["checks", "bad samples"]
    assert two.budget.tolist() == [2.0, 0.5]
    assert (two.cost[0][:, SAMPLE] == 0).all()
    assert (two.cost[1][:, len(ACTIONS) :] == 0).all()


def test_without_costs_it_is_a_plain_pomdp():
    plain, constrained = rocksample(costs=False, budget=None), rocksample()
    assert plain.n_costs == 0
    assert plain.budget.size == 0
    assert np.array_equal(plain.reward, constrained.reward)
    assert constrained.budget.tolist() == [1]
    assert rocksample(budget=None).budget.tolist() == [math.inf]


def test_labels_are_pickled_with_the_model():
    model = rocksample(n=2, rocks=((1, 2),))
    again = pickle.loads(pickle.dumps(model))
    assert list(again.states) == list(model.states)
    assert again.states[5] == "(1,2) good"


CLASSIC = {  # as published: from 0, start in the middle of the west edge
    "rs-5-7": "(1,0) (2,1) (1,2) (2,2) (4,2) (0,3) (3,4)",
    "rs-7-8": "(2,0) (0,1) (3,1) (6,3) (2,4) (3,4) (5,5) (1,6)",
    "rs-11-11": "(0,3) (0,7) (1,8) (2,4) (3,3) (3,8) (4,3) (5,8) (6,1) (9,3) (9,9)",
}
CONSTRAINED = {
    "crs-4-4": "(1,1) (3,3) (4,4)",
    "crs-5-7": "(5,2) (3,3) (1,3) (1,2) (5,5) (2,3) (2,4)",
    "crs-7-8": "(3,5) (3,2) (6,2) (4,2) (6,1) (2,5) (5,2) (7,7)",
    "crs-11-11": "(9,3) (3,6) (10,1) (11,7) (11,1) (6,1) (6,9) (4,7) (2,6) (10,7) (5,5)",
}
SIZES = {
    "crs-4-4": (201, 8),
    "crs-5-7": (3201, 12),
    "crs-7-8": (12545, 13),
    "crs-11-11": (247809, 16),
    "rs-5-7": (3201, 12),
    "rs-7-8": (12545, 13),
    "rs-11-11": (247809, 16),
}


def cells(text, shift):
    return tuple(tuple(int(c) + shift for c in cell.strip("()").split(",")) for cell in text.split())


def test_layouts_are_the_published_ones():
    assert set(LAYOUTS) == set(CLASSIC) | set(CONSTRAINED) | {"sample-return"}
    for name, text in CONSTRAINED.items():
        assert LAYOUTS[name]["rocks"] == cells(text, 0)
        assert set(LAYOUTS[name]) == {"n", "rocks"}  # the rest as by default
    for name, text in CLASSIC.items():
        n = int(name.split("-")[1])
        assert LAYOUTS[name] == {
            "n": n,
            "rocks": cells(text, 1),
            "start": (1, n // 2 + 1),
            "costs": False,
            "budget": None,
        }


@pytest.mark.parametrize(
    ("name", "straight_out"),
    [
        ("crs-4-4", 8.145),
        ("crs-5-7", 8.145),
        ("crs-7-8", 7.351),
        ("crs-11-11", 5.987),
        ("rs-5-7", 8.145),
        ("rs-7-8", 7.351),
        ("rs-11-11", 5.987),
    ],
)
def test_sizes_and_the_value_of_going_straight_out(name, straight_out):
    model = rocksample(**LAYOUTS[name])
    assert (model.n_states, model.n_actions) == SIZES[name]
    assert model.n_observations == 3
    assert model.n_costs == name.startswith("crs")
    east = model.actions.index("east")
    belief, value, discount = model.initial_belief, 0.0, 1.0
    for _ in range(LAYOUTS[name]["n"]):
        assert belief[-1] == 0
        value += discount * (belief @ model.reward[:, east])
        belief = model.transition[east].T @ belief
        discount *= model.discount
    assert belief[-1] == pytest.approx(1)
    assert value == pytest.approx(straight_out, abs=5e-4)
    assert value == pytest.approx(10 * 0.95 ** (LAYOUTS[name]["n"] - 1), abs=1e-12)


def test_checking_then_sampling_on_crs_4_4_is_worth_what_theory_says():
    """Check the rock under the rover, sample it if it is good, leave: the least that the optimum can be."""
    model = rocksample(**LAYOUTS["crs-4-4"])
    check, sample, east = (model.actions.index(a) for a in ("check-1", "sample", "east"))

    def walk(belief, actions):
        value, discount = 0.0, 1.0
        for a in actions:
            value += discount * (belief @ model.reward[:, a])
            belief = model.transition[a].T @ belief
            discount *= model.discount
        return value

    value = 0.0
    for o, plan in ((0, [sample] + [east] * 5), (1, [east] * 5)):
        joint = (model.transition[check].T @ model.initial_belief) * model.observation[check].toarray()[:, o]
        value += model.discount * walk(joint, plan)
    if_good, if_bad = 10 * 0.95 + 10 * 0.95**6, 10 * 0.95**5
    assert value == pytest.approx((if_good + if_bad) / 2, abs=1e-12)
    assert 12.294 < value < 12.310  # bounds of an independent search


BAD_MAPS = [
    ({"n": 0}, "n is 0; a map has at least one cell"),
    ({"n": 2.5}, "n is 2.5, not a whole number"),
    ({"rocks": ((1, 1), (6, 2))}, r"rock 2 is at \(6, 2\), outside the 5x5 map"),
    ({"rocks": ((0, 1),)}, r"rock 1 is at \(0, 1\), outside the 5x5 map"),
    ({"rocks": ((1, 1), (2, 2), (1, 1))}, r"rock 3 is at \(1, 1\), where rock 1 is already"),
    ({"rocks": ((1, 1), (2,))}, r"rock 2 is \(2,\), not a pair of whole numbers"),
    ({"rocks": (1, 1)}, "rock 1 is 1, not a pair of whole numbers"),
    ({"start": (1, 6)}, r"start is at \(1, 6\), outside the 5x5 map"),
    ({"half_distance": 0.0}, "half_distance is 0.0; it must be above 0"),
    ({"half_distance": math.nan}, "half_distance is nan"),
    ({"n": 20, "rocks": tuple((i, i) for i in range(1, 21))}, r"400 \* 2\^20 \+ 1 states and 25 actions"),
    ({"n": 200, "rocks": tuple((i, j) for i in range(1, 201) for j in range(1, 101))}, r"2\^20000 \+ 1"),
    ({"n": 10**6, "rocks": ()}, r"1000000000000 \* 2\^0 \+ 1 states"),
]


@pytest.mark.parametrize(("params", "sentence"), BAD_MAPS)
def test_a_map_that_is_none_is_refused_with_a_sentence(params, sentence):
    with pytest.raises(ModelError, match=sentence):
        rocksample(**params)
