"""Tag: rows of the published file, the prose pair by pair, and bounds on the known value."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp.errors import ModelError
from rcpomdp.model import CPOMDP
from rcpomdp.policies.alpha import fib, qmdp
from rcpomdp.problems.tag import tag
from rcpomdp.simulation.simulate import simulate

CELLS = [(x, y) for y in (1, 2) for x in range(1, 11)] + [(x, y) for y in (3, 4, 5) for x in (6, 7, 8)]
MOVES = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
NAMES = ["({},{})".format(*cell) for cell in CELLS]
N = 870


def transitions(model: CPOMDP) -> np.ndarray:
    """T[a, s, s']."""
    return np.array([matrix.toarray() for matrix in model.transition])


@pytest.fixture(scope="module")
def model() -> CPOMDP:
    return tag()


@pytest.fixture(scope="module")
def T(model: CPOMDP) -> np.ndarray:
    return transitions(model)


def after(cell: tuple[int, int], move: str) -> tuple[int, int]:
    there = (cell[0] + MOVES[move][0], cell[1] + MOVES[move][1])
    return there if there in CELLS else cell


def test_published_sizes_and_defaults(model):
    assert model.name == "tag"
    assert (model.n_states, model.n_actions, model.n_observations) == (N, 5, 30)
    assert model.discount == 0.95
    assert_array_equal(model.budget, [2.5])
    assert list(model.actions) == [*MOVES, "tag"]
    assert list(model.observations) == [*NAMES, "opponent"]
    assert list(model.states) == [f"{robot} {opponent}" for robot in NAMES for opponent in [*NAMES, "tagged"]]
    assert_array_equal(tag(budget=None).budget, [np.inf])
    assert tag(discount=0.5).discount == 0.5


def test_rows_of_the_published_file(T):
    rows = {  # the file numbers its states as here: 30 * robot + opponent
        ("north", 81): {381: 0.2, 382: 0.4, 384: 0.4},
        ("north", 82): {382: 0.6, 385: 0.4},
        ("north", 88): {388: 1.0},
        ("north", 90): {390: 0.8, 400: 0.2},
        ("north", 93): {392: 0.2, 393: 0.4, 394: 0.2, 403: 0.2},
        ("north", 165): {464: 0.2, 465: 0.2, 466: 0.2, 470: 0.4},
        ("north", 744): {831: 0.2, 833: 0.2, 834: 0.2, 835: 0.2, 837: 0.2},
        ("north", 806): {803: 0.2, 806: 0.6, 807: 0.2},
        ("south", 9): {9: 0.8, 19: 0.2},
        ("south", 15): {15: 0.2, 16: 0.4, 20: 0.4},
        ("west", 810): {780: 1.0},
        ("west", 826): {786: 0.4, 795: 0.2, 796: 0.2, 797: 0.2},
        ("west", 868): {835: 0.2, 837: 0.2, 838: 0.6},
        ("tag", 93): {119: 1.0},
        ("tag", 868): {869: 1.0},
        ("tag", 94): {94: 1.0},
    }
    actions = [*MOVES, "tag"]
    for (action, s), expected in rows.items():
        assert_allclose(
            T[actions.index(action), s], [expected.get(t, 0.0) for t in range(N)], atol=1e-15, err_msg=str(s)
        )


@pytest.mark.parametrize("flight", [0.8, 0.5])
def test_robot_obeys_and_opponent_flees(flight):
    fled = np.zeros((29, 29, 29))
    for r, (x, y) in enumerate(CELLS):
        for o, cell in enumerate(CELLS):
            east_west = [m for m, away in (("east", cell[0] >= x), ("west", cell[0] <= x)) if away]
            north_south = [m for m, away in (("north", cell[1] >= y), ("south", cell[1] <= y)) if away]
            fled[r, o, o] = 1 - flight
            for options in (east_west, north_south):
                for move in options:
                    fled[r, o, CELLS.index(after(cell, move))] += flight / 2 / len(options)
    for move, matrix in zip(MOVES, transitions(tag(flight=flight)), strict=False):
        for r, cell in enumerate(CELLS):
            r_next = CELLS.index(after(cell, move))
            rows = matrix[30 * r : 30 * r + 29]
            assert_allclose(rows[:, 30 * r_next : 30 * r_next + 29], fled[r], atol=1e-15)
            assert_allclose(rows.sum(axis=1), 1)


def test_the_end(model, T):
    over = np.arange(N) % 30 == 29
    assert_array_equal(model.terminal, over)
    assert_array_equal(T[:, over], np.tile(np.eye(N)[over], (5, 1, 1)))
    assert_array_equal(model.reward[over], 0)


def test_the_robot_sees_its_cell_or_the_opponent(model):
    *moves, tagging = (matrix.toarray() for matrix in model.observation)
    for s, state in enumerate(model.states):
        robot, opponent = str(state).split(" ")
        seen = "opponent" if robot == opponent else robot
        for Z in moves:
            assert_array_equal(Z[s], [name == seen for name in model.observations])
        assert_array_equal(tagging[s], [name == robot for name in model.observations])


def test_rewards_and_costs():
    model = tag(room_cost=2.0)
    for s, state in enumerate(model.states):
        robot, opponent = str(state).split(" ")
        if opponent == "tagged":
            assert_array_equal(model.cost[0, s], 0)
            continue
        assert_array_equal(model.reward[s], [-1, -1, -1, -1, 10 if robot == opponent else -10])
        assert_array_equal(model.cost[0, s], 2.0 * (CELLS[NAMES.index(robot)][1] > 2))


def test_start(model):
    assert_allclose(model.initial_belief, np.where(np.arange(N) % 30 == 29, 0, 1 / 841))


@pytest.mark.parametrize("flight", [-0.1, 1.1, float("nan")])
def test_flight_is_checked(flight):
    with pytest.raises(ModelError, match="flight is .* but a probability is at least 0 and at most 1"):
        tag(flight=flight)


# Values


def follow(model: CPOMDP, T: np.ndarray, action: np.ndarray) -> tuple[float, float]:
    """Value and cost of taking ``action[s]`` in state s."""
    s = np.arange(N)
    chain = np.eye(N) - model.discount * T[action, s]
    value, cost = np.linalg.solve(chain, np.column_stack([model.reward[s, action], model.cost[0][s, action]])).T
    return float(value @ model.initial_belief), float(cost @ model.initial_belief)


def test_a_patrol_comes_close_to_the_known_value(model, T):
    # Patrol the hall and the room, and tag on sight: this needs no memory, as no two legs share a cell.
    tour = dict.fromkeys([(x, 1) for x in range(2, 11)], "west") | {(1, 1): "north"}
    tour |= dict.fromkeys([(x, 2) for x in range(1, 10)], "east") | {(10, 2): "south"}
    tour |= dict.fromkeys([(6, 2), (6, 3), (6, 4)], "north") | dict.fromkeys([(6, 5), (7, 5)], "east")
    tour |= dict.fromkeys([(8, 5), (8, 4), (8, 3)], "south") | dict.fromkeys([(7, 3), (7, 4)], "east")
    hunt = np.array([[4 if o == r else list(MOVES).index(tour[c]) for o in range(30)] for r, c in enumerate(CELLS)])
    value, cost = follow(model, T, hunt.ravel())
    assert value == pytest.approx(-6.097, abs=1e-3)
    assert value < -6.03 < fib(model).value(model.initial_belief) < 0.33  # -6.03 is what SARSOP finds
    assert model.budget[0] < cost  # the default budget binds


def test_qmdp_is_as_bad_as_published(model):
    reached = simulate(model, qmdp(model), runs=2000, steps=150, seed=1).reward
    assert 3 * reached.se < 0.6
    assert reached.mean == pytest.approx(-16.77, abs=0.6)  # Pineau, Gordon and Thrun (2003)


def test_going_south_costs_least(model, T):
    _, spent = follow(model, T, np.full(N, list(MOVES).index("south")))
    leave = [1, 1 + 0.95, 1 + 0.95 + 0.95**2]  # from the three rows of the room
    assert spent == pytest.approx(3 / 29 * sum(leave))
    assert spent < model.budget[0]


def test_the_default_budget_can_be_kept_all_along_the_way(model):
    first = 9 / 29  # one action in an unknown cell
    worst = 1 + 0.95  # then in the middle row of the room at most, two steps from the hall
    assert first + 0.95 * worst == pytest.approx(2.163, abs=1e-3)
    assert first + 0.95 * worst < model.budget[0]
