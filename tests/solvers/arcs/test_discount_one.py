"""Files with a discount of 1: they load, ask for a horizon, and are solved as plain backward induction solves them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rcpomdp as rc

HORIZON = 10
TIGER = """
discount: 1
values: reward
states: left right
actions: listen open-left open-right
observations: hear-left hear-right
T: listen identity
T: open-left uniform
T: open-right uniform
O: listen
0.85 0.15
0.15 0.85
O: open-left uniform
O: open-right uniform
R: listen : * : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
R: open-right : left : * : * 10
R: open-right : right : * : * -100
"""
CORRIDOR = """
discount: 1.0
values: reward
states: 4
actions: west east
observations: nothing goal
start: uniform
T: west : 0 : 0 1
T: west : 1 : 0 1
T: west : 2 : 2 1
T: west : 3 : 2 1
T: east : 0 : 1 1
T: east : 1 : 3 1
T: east : 2 : 0 0.25
T: east : 2 : 1 0.25
T: east : 2 : 3 0.5
T: east : 3 : 3 1
O: * : * : nothing 1
O: * : 2 : nothing 0
O: * : 2 : goal 1
R: * : * : 2 : * 1
"""
PAINTING = """
discount: 1
values: reward
states: fine flawed painted spoilt
actions: paint inspect ship reject
observations: good bad
start: 0.5 0.5 0 0
T: paint : fine : painted 0.9
T: paint : fine : fine 0.1
T: paint : flawed : spoilt 0.9
T: paint : flawed : flawed 0.1
T: paint : painted : painted 1
T: paint : spoilt : spoilt 1
T: inspect identity
T: ship : * : fine 0.5
T: ship : * : flawed 0.5
T: reject : * : fine 0.5
T: reject : * : flawed 0.5
O: * : * : good 1
O: inspect : flawed : good 0.25
O: inspect : flawed : bad 0.75
O: inspect : spoilt : good 0.25
O: inspect : spoilt : bad 0.75
R: ship : * : * : * -1
R: ship : painted : * : * 1
R: reject : * : * : * -1
R: reject : flawed : * : * 1
"""
METERED = "#! costs: 1 checks\n#! C[checks]: {} : * : * : * 1\n"


def induction(model: rc.CPOMDP, steps: int, budget: float = np.inf, cost: int = 0) -> float:
    """The optimum of so many steps by the definition, with at most `budget` of a cost in every history."""
    kinds = zip(model.transition, model.observation, strict=True)
    joint = [move.toarray()[:, :, None] * told.toarray()[None] for move, told in kinds]
    known: dict[tuple[bytes, float, int], float] = {}

    def value(b: np.ndarray, left: float, t: int) -> float:
        key = (np.round(b, 12).tobytes(), round(left, 9), t)
        if t == 0:
            return 0.0
        if key not in known:
            best = -np.inf
            for a, matrix in enumerate(joint):
                rest = left - float(b @ model.cost[cost, :, a]) if model.n_costs else left
                if rest < -1e-9:
                    continue
                ahead = np.einsum("s,sto->ot", b, matrix)
                after = [value(row / row.sum(), rest, t - 1) * row.sum() for row in ahead if row.sum() > 1e-12]
                best = max(best, float(b @ model.reward[:, a]) + sum(after))
            known[key] = best
        return known[key]

    return value(np.asarray(model.initial_belief), budget, steps)


def loaded(folder: Path, text: str) -> rc.CPOMDP:
    path = folder / "model.pomdp"
    path.write_text(text)
    return rc.load_model(path)


@pytest.mark.parametrize("text", [TIGER, CORRIDOR, PAINTING], ids=["tiger", "corridor", "painting"])
@pytest.mark.parametrize("solver", ["arcs", "sarsop"])
def test_without_a_budget(tmp_path: Path, text: str, solver: str) -> None:
    model = loaded(tmp_path, text)
    assert model.discount == 1
    result = rc.solve(model.with_horizon(HORIZON), solver, time_limit=30)
    wanted = induction(model, HORIZON)
    assert result.lower - 1e-9 <= wanted <= result.upper + 1e-9
    assert result.gap <= 1e-3


@pytest.mark.parametrize(
    ("text", "metered"),
    [(TIGER, "listen"), (PAINTING, "inspect"), (CORRIDOR, "east")],
    ids=["tiger", "painting", "corridor"],
)
@pytest.mark.parametrize("budget", [0.0, 2.0, 5.0])
def test_under_a_budget(tmp_path: Path, text: str, metered: str, budget: float) -> None:
    model = loaded(tmp_path, text + METERED.format(metered))
    short = model.with_horizon(HORIZON).with_budget(budget)
    result = rc.solve(short, time_limit=30)
    wanted = induction(model, HORIZON, budget)
    assert result.lower - 1e-9 <= wanted <= result.upper + 1e-9
    assert result.gap <= 1e-3
    assert rc.verify(short, result.policy, result.summary()).verified


def test_a_file_asks_for_a_horizon_when_it_is_solved(tmp_path: Path, run) -> None:
    path = tmp_path / "model.pomdp"
    path.write_text(TIGER)
    code, out, err = run("solve", str(path))
    assert (code, out) == (2, "")
    told = "discount 1 needs a horizon, since the process may go on for ever: .with_horizon(steps) or --horizon"
    assert err == f"rcpomdp: {told}\n"
    assert run("solve", str(path), "--horizon", "2", "--json")[0] == 0
