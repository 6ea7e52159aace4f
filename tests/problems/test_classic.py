"""Cheese maze, mini-hall, query and maze20 against their published tables, state by state."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rcpomdp.errors import ModelError
from rcpomdp.model import CPOMDP
from rcpomdp.problems.cheese_maze import cheese_maze
from rcpomdp.problems.maze20 import maze20
from rcpomdp.problems.mini_hall import mini_hall
from rcpomdp.problems.query import query


def transitions(model: CPOMDP) -> np.ndarray:
    """T[a, s, s']."""
    return np.array([matrix.toarray() for matrix in model.transition])


def observations(model: CPOMDP) -> np.ndarray:
    """Z[a, s', o]."""
    return np.array([matrix.toarray() for matrix in model.observation])


def belief_mdp(model: CPOMDP) -> tuple[np.ndarray, np.ndarray]:
    """All reachable beliefs b[i, s], the first being the initial one, and their transitions P[a, i, j]."""
    T, Z = transitions(model), observations(model)
    beliefs = [model.initial_belief]
    index = {tuple(np.round(beliefs[0], 9)): 0}
    arrows = []
    for i, b in enumerate(beliefs):  # grows while it is read
        assert len(beliefs) < 100
        for a, o in np.ndindex(model.n_actions, model.n_observations):
            joint = b @ T[a] * Z[a][:, o]
            if (p := joint.sum()) > 1e-12:
                key = tuple(np.round(joint / p, 9))
                if key not in index:
                    index[key] = len(beliefs)
                    beliefs.append(joint / p)
                arrows.append((a, i, index[key], p))
    P = np.zeros((model.n_actions, len(beliefs), len(beliefs)))
    for a, i, j, p in arrows:
        P[a, i, j] += p
    return np.array(beliefs), P


def action_values(P: np.ndarray, reward: np.ndarray, discount: float) -> np.ndarray:
    """Q[i, a] of the best policy in the MDP over beliefs."""
    q = np.zeros_like(reward)
    for _ in range(1000):  # leaves an error below 0.95^1000 * max|Q| < 1e-22 * 1e7
        q = reward + discount * (P @ q.max(axis=1)).T
    return q


def optimum_and_costs(model: CPOMDP) -> tuple[float, float, float]:
    """The unconstrained optimum, the least cost of a policy that attains it, the least cost of any policy."""
    beliefs, P = belief_mdp(model)
    reward, cost = beliefs @ model.reward, beliefs @ model.cost[0]
    q = action_values(P, reward, model.discount)
    best = q > q.max(axis=1, keepdims=True) - 1e-9
    cost_of_best = -action_values(P, np.where(best, -cost, -1e5), model.discount)[0].max()
    least_cost = -action_values(P, -cost, model.discount)[0].max()
    return q[0].max(), cost_of_best, least_cost


@pytest.mark.parametrize(
    ("model", "name", "sizes", "discount", "budget"),
    [
        (cheese_maze(), "cheese-maze", (11, 4, 7), 0.95, 8.0),
        (mini_hall(), "mini-hall", (13, 3, 9), 0.95, 4.0),
        (query(), "query-s3", (27, 3, 3), 0.99, 30.0),
        (query(sources=2), "query-s2", (9, 2, 3), 0.99, 30.0),
        (query(sources=4), "query-s4", (81, 4, 3), 0.99, 30.0),
        (maze20(), "maze20", (20, 6, 8), 0.9, 3.0),
    ],
    ids=lambda value: value.name if isinstance(value, CPOMDP) else "",
)
def test_published_sizes_and_defaults(model, name, sizes, discount, budget):
    assert model.name == name
    assert (model.n_states, model.n_actions, model.n_observations) == sizes
    assert model.discount == discount
    assert_array_equal(model.budget, [budget])
    assert not model.terminal.any()


@pytest.mark.parametrize("problem", [cheese_maze, mini_hall, query, maze20])
def test_no_budget_is_unlimited_and_parameters_are_passed_on(problem):
    model = problem(budget=None, discount=0.5)
    assert_array_equal(model.budget, [np.inf])
    assert model.discount == 0.5


CHEESE_AFTER = {  # the published table: cells 0 to 9, and 10 is the cheese
    "north": [0, 1, 2, 3, 4, 0, 2, 4, 5, 7],
    "south": [5, 1, 6, 3, 7, 8, 10, 9, 8, 9],
    "east": [1, 2, 3, 4, 4, 5, 6, 7, 8, 9],
    "west": [0, 0, 1, 2, 3, 5, 6, 7, 8, 9],
}
CHEESE_SEEN = [0, 1, 2, 1, 3, 4, 4, 4, 5, 5, 6]


class TestCheeseMaze:
    def test_moves(self):
        model = cheese_maze()
        assert list(model.actions) == list(CHEESE_AFTER)
        for T, after in zip(transitions(model), CHEESE_AFTER.values(), strict=True):
            assert_array_equal(T[:10], np.eye(11)[after])
            assert_allclose(T[10], [0.1] * 10 + [0])
        assert_allclose(model.initial_belief, [0.1] * 10 + [0])

    def test_observations(self):
        for Z in observations(cheese_maze()):
            assert_array_equal(Z, np.eye(7)[CHEESE_SEEN])

    def test_only_reaching_the_cheese_pays(self):
        model = cheese_maze()
        paid = np.zeros((11, 4))
        paid[6, model.actions.index("south")] = 1
        assert_array_equal(model.reward, paid)

    def test_steps_cost_and_bumps_do_not(self):
        after = np.array(list(CHEESE_AFTER.values())).T
        steps = after != np.arange(10)[:, None]
        assert_array_equal(cheese_maze(step_cost=2.5).cost[0], 2.5 * np.vstack([steps, np.zeros(4)]))

    def test_optimum_and_costs_over_the_16_reachable_beliefs(self):
        assert len(belief_mdp(cheese_maze())[0]) == 16
        assert_allclose(optimum_and_costs(cheese_maze()), [3.486207, 16.188104, 0.4], atol=1e-6)


HALL_AFTER = {  # the published table: 0 to 11 are top, corner and door facing north, east, south and west
    "forward": [0, 1, 6, 3, 0, 9, 0, 7, 8, 9, 12, 7],
    "turn-right": [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8],
    "turn-left": [3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10],
}
HALL_SEEN = [0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 4, 5, 8]


class TestMiniHall:
    def test_moves(self):
        model = mini_hall()
        assert list(model.actions) == list(HALL_AFTER)
        for T, after in zip(transitions(model), HALL_AFTER.values(), strict=True):
            assert_array_equal(T[:12], np.eye(13)[after])
            assert_allclose(T[12], [1 / 12] * 12 + [0])
        assert_allclose(model.initial_belief, [1 / 12] * 12 + [0])

    def test_observations(self):
        for Z in observations(mini_hall()):
            assert_array_equal(Z, np.eye(9)[HALL_SEEN])

    def test_names_say_what_is_seen(self):
        model = mini_hall()
        seen = {s: model.observations[o] for s, o in zip(model.states, HALL_SEEN, strict=True)}
        assert seen["top-north"] == "open-back"
        assert seen["corner-north"] == seen["door-south"] == "open-front-right"
        assert seen["corner-south"] == seen["door-north"] == "open-back-left"

    def test_only_reaching_the_goal_pays(self):
        model = mini_hall()
        paid = np.zeros((13, 3))
        paid[model.states.index("door-south"), 0] = 1
        assert_array_equal(model.reward, paid)

    def test_forward_costs_and_turning_does_not(self):
        assert_array_equal(mini_hall(forward_cost=0.5).cost[0], np.tile([0.5, 0, 0], (13, 1)))

    def test_optimum_and_costs_over_the_18_reachable_beliefs(self):
        assert len(belief_mdp(mini_hall())[0]) == 18
        assert_allclose(optimum_and_costs(mini_hall()), [2.714284, 8.783810, 0], atol=1e-6)


@pytest.mark.parametrize("model", [cheese_maze(), mini_hall()], ids=lambda model: model.name)
def test_default_budget_binds_and_can_be_kept(model):
    _, cost_of_best, least_cost = optimum_and_costs(model)
    assert least_cost < model.budget[0] < cost_of_best


class TestQuery:
    def test_rows_of_the_published_table_for_two_sources(self):
        model = query(sources=2)
        T, Z = transitions(model), observations(model)
        assert list(model.states)[:4] == ["down/down", "unloaded/down", "loaded/down", "down/unloaded"]
        assert_allclose(T[0, 0], [0.64, 0.08, 0.08, 0.12, 0.015, 0.015, 0.04, 0.005, 0.005])
        assert_allclose(T[0, 5], [0.005, 0.0025, 0.0425, 0.08, 0.04, 0.68, 0.015, 0.0075, 0.1275])
        assert_allclose(T[1, 5], [0.0025, 0.0075, 0.04, 0.0375, 0.1125, 0.6, 0.01, 0.03, 0.16])
        down, unloaded, loaded = [1, 0, 0], [0.02, 0.9, 0.08], [0.2, 0.05, 0.75]
        assert_allclose(Z[0], [down, unloaded, loaded] * 3)
        assert_allclose(Z[1], [down] * 3 + [unloaded] * 3 + [loaded] * 3)

    def test_reward_depends_on_the_queried_source_alone(self):
        model = query()
        expected = {"down": 1.199, "unloaded": 7.48, "loaded": 2.7995}
        for s, state in enumerate(model.states):
            assert_allclose(model.reward[s], [expected[load] for load in state.split("/")])

    def test_sources_are_interchangeable_but_for_the_cost(self):
        model = query()
        T = transitions(model)
        for order in permutations(range(3)):
            moved = [model.states.index("/".join(s.split("/")[i] for i in order)) for s in model.states]
            for a, b in enumerate(order):
                assert_allclose(T[a][np.ix_(moved, moved)], T[b], atol=1e-15)

    def test_start_is_uniform(self):
        assert_allclose(query().initial_belief, 1 / 27)

    def test_only_remote_queries_cost(self):
        assert_array_equal(query(remote_cost=2).cost[0], np.tile([0, 2, 2], (27, 1)))

    @pytest.mark.parametrize("sources", [0, 1, 7])
    def test_number_of_sources_is_checked(self, sources):
        with pytest.raises(ModelError, match=f"sources is {sources}, but there must be 2 to 6"):
            query(sources=sources)


MAZE_MOVES = ("north", "south", "east", "west")
MAZE_OPEN = {  # the sides without a wall
    "a4": "SE", "b4": "EW", "c4": "SEW", "d4": "SEW", "e4": "W",
    "a3": "NSE", "b3": "SW", "c3": "NS", "d3": "NE", "e3": "SW",
    "a2": "NSE", "b2": "NW", "c2": "N", "d2": "SE", "e2": "NW",
    "a1": "NE", "b1": "EW", "c1": "EW", "d1": "NEW", "e1": "W",
}  # fmt: skip


def neighbour(cell: str, move: str) -> str:
    """Where a move in the maze leads unless it slips."""
    if move[0].upper() not in MAZE_OPEN[cell]:
        return cell
    dx, dy = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}[move]
    return chr(ord(cell[0]) + dx) + str(int(cell[1]) + dy)


class TestMaze20:
    def test_moves(self):
        model = maze20()
        aside = {"north": "east west", "south": "east west", "east": "north south", "west": "north south"}
        T = transitions(model)
        for a, move in enumerate(MAZE_MOVES):
            assert model.actions[a] == move
            for s, cell in enumerate(model.states):
                row = np.zeros(20)
                if cell == "c2":
                    row[[model.states.index(c) for c in ("a1", "e1", "e4")]] = 0.3, 0.3, 0.4
                else:
                    row[model.states.index(neighbour(cell, move))] += 0.7
                    for side in aside[move].split():
                        row[model.states.index(neighbour(cell, side))] += 0.15
                assert_allclose(T[a, s], row)

    def test_rewards_of_the_published_table(self):
        model = maze20()
        published = {
            "e4": [0.6, 0.6, 0, 2.8],
            "d4": [1.2, 4, 3.4, 3.4],
            "d3": [3.4, 0.6, 3.4, 0.6],
            "e3": [0.6, 3.4, 0.6, 3.4],
            "d1": [4, 1.2, 3.4, 3.4],
            "c1": [1.2, 1.2, 2.8, 2.8],
            "a2": [3.4, 3.4, 4, 1.2],
            "c3": [2.8, 2.8, 1.2, 1.2],
            "c2": [150, 150, 150, 150],
        }
        for cell, rewards in published.items():
            assert_allclose(model.reward[model.states.index(cell)], [*rewards, 2, 2])

    def test_sensing_stays_put_and_sees_walls_with_errors(self):
        model = maze20()
        T, Z = transitions(model), observations(model)
        reading = {  # walls on the first and the second side -> none seen, the first, the second, both
            (0, 0): [0.89, 0.05, 0.05, 0.01],
            (1, 0): [0.14, 0.80, 0.01, 0.05],
            (0, 1): [0.14, 0.01, 0.80, 0.05],
            (1, 1): [0.05, 0.10, 0.10, 0.75],
        }
        for action, first, second in (("north-south", "N", "S"), ("east-west", "E", "W")):
            a = model.actions.index(f"sense-{action}")
            assert_array_equal(T[a], np.eye(20))
            north, south = action.split("-")
            names = ["no-wall", f"wall-{north}", f"wall-{south}", f"wall-{action}"]
            columns = [model.observations.index(name) for name in names]
            for s, cell in enumerate(model.states):
                walls = int(first not in MAZE_OPEN[cell]), int(second not in MAZE_OPEN[cell])
                assert_allclose(Z[a, s, columns], reading[walls])

    def test_moves_show_nothing(self):
        model = maze20()
        assert_array_equal(observations(model)[:4, :, model.observations.index("nothing")], np.ones((4, 20)))

    def test_start(self):
        model = maze20()
        start = {str(model.states[s]): model.initial_belief[s] for s in np.flatnonzero(model.initial_belief)}
        assert start == pytest.approx({"a1": 0.3, "e1": 0.3, "e4": 0.4})

    def test_moves_cost_and_sensing_does_not(self):
        assert_array_equal(maze20(move_cost=3).cost[0], np.tile([3, 3, 3, 3, 0, 0], (20, 1)))

    def test_slip(self):
        T = transitions(maze20(slip=0))
        assert_array_equal(np.delete(T, 7, axis=1).max(axis=2), np.ones((6, 19)))  # all but c2 are certain
        for wrong in (-0.1, 1.1, float("nan")):
            with pytest.raises(ModelError, match=r"slip is .* but a probability is at least 0 and at most 1"):
                maze20(slip=wrong)
