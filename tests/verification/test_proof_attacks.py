"""Proofs that are made to deceive, rather than damaged: another question, another model, numbers at the edge."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import rcpomdp as rc
from random_cases import random_case
from rcpomdp.bounds.fib import fib_vectors
from rcpomdp.cli import app
from rcpomdp.solvers.proofs import evidence
from rcpomdp.verification.inequalities import Inequalities
from rcpomdp.verification.proof_check import _excess

NONE = np.zeros(0, dtype=np.int64)


@cache
def proven(name: str, epsilon: float = 1e-3, **parameters: Any) -> tuple[rc.CPOMDP, rc.Result, rc.Proof]:
    model = rc.problems.make(name, **parameters)
    result = rc.solve(model, epsilon=epsilon, proof=True)
    assert result.proof is not None
    return model, result, result.proof


def of_another_objective() -> tuple[rc.CPOMDP, rc.Proof]:
    """A true bound on R − 100·C over all policies of the tunnels, by a table alone: below what is earned."""
    model, _, proof = proven("tunnels")
    weights = np.array([1.0, 100.0])
    worth = model._changed(arrays=model.arrays._replace(reward=model.reward - 100 * model.cost[0]))
    size = int(proof.point_ptr[1])
    bare = proof._replace(
        **{"criterion": "none", "upper": 0.5, "objective": weights, "weights": weights[None]},
        **{"table_cost": np.array([0]), "table_ptr": np.array([0, 1]), "table_level": np.array([np.inf])},
        **{"table": np.ascontiguousarray(fib_vectors(worth).T)[None], "late_of": NONE},
        **{"level_ptr": np.array([0, 1]), "level": np.array([np.inf]), "point_ptr": np.array([0, size])},
        **{"point_state": proof.point_state[:size], "point_prob": proof.point_prob[:size]},
        **dict.fromkeys(("entry_point", "entry_mode", "cover_point", "cover_action"), NONE),
        **{"cover_observation": NONE, "cover_target": NONE, "cover_ptr": np.zeros(1, dtype=np.int64)},
        **{"entry_level": np.zeros((0, 1), dtype=np.int64), "entry_value": np.zeros((0, model.n_actions))},
    )
    return model, bare


def test_a_proof_of_another_objective_is_none_of_the_reward(tmp_path: Path) -> None:
    model, bare = of_another_objective()
    found = rc.check_proof(model, bare)
    assert found.confirmed
    assert found.objective == "+1·reward -100·cost"
    assert found.upper < proven("tunnels")[1].lower
    check = rc.verify(model, rc.policies.blind(model, 0), {"upper": 0.5}, proof=bare).checks[0]
    assert (check.claim, check.verdict) == ("upper", "not checked")
    rc.save_proof(tmp_path / "bound.rcproof", bare, model, model.source)
    told = CliRunner().invoke(app, ["verify", "--proof", str(tmp_path / "bound.rcproof")]).output
    assert "proven: no policy, whatever it spends, has, by +1·reward -100·cost, more than 0.48" in told


def test_a_proof_for_every_history_is_none_for_shorter_ones() -> None:
    model, result, proof = proven("tunnels")
    on_average = rc.solve(model, "cgcp", proof=True)
    assert on_average.lower > result.upper + 0.5
    false = {"upper": 1.2, "k": 1}  # true of policies that keep the budget in every history
    found = rc.verify(model, result.policy, false, k=1, proof=proof)
    assert {check.claim: check.verdict for check in found.checks} == {"upper": "not checked", "k": "confirmed"}
    true = {"upper": on_average.upper, "k": 1}
    found = rc.verify(model, result.policy, true, k=1, proof=on_average.proof)
    assert {check.claim: check.verdict for check in found.checks} == {"upper": "confirmed", "k": "confirmed"}


def test_that_nothing_keeps_a_budget_in_every_history_says_nothing_of_averages() -> None:
    model, _, proof = proven("ce", budget=4.0)
    found = rc.check_proof(model, proof)
    assert found.rules_out(None)
    assert not found.rules_out(1)


OTHERS: dict[str, Callable[[rc.CPOMDP], rc.CPOMDP]] = {
    "a larger budget": lambda model: model.with_budget(1.5 * model.budget),
    "no budget": lambda model: model.with_budget(math.inf),
    "costs that are not discounted": lambda model: rc.problems.make(model.source["name"], cost_discount=1),  # type: ignore[index]
    "less discounted rewards": lambda model: rc.problems.make(model.source["name"], discount=0.97),  # type: ignore[index]
    "higher rewards": lambda model: model._changed(arrays=model.arrays._replace(reward=1.1 * model.reward)),
    "lower costs": lambda model: model._changed(arrays=model.arrays._replace(cost=0.9 * model.cost)),
}


@pytest.mark.parametrize("name", ["crs-4-4", "tunnels", "ce"])
@pytest.mark.parametrize("other", OTHERS)
def test_a_proof_of_another_model_proves_nothing_false(name: str, other: str) -> None:
    model, _, proof = proven(name, 0.02)
    changed = OTHERS[other](model)
    attained = rc.solve(changed, epsilon=0.02, time_limit=5).lower
    assert rc.check_proof(changed, proof).upper >= attained - 1e-9 * abs(attained)


def test_a_proof_of_another_horizon_is_none() -> None:
    model, _, proof = proven("tunnels")
    with pytest.raises(rc.ProofError, match="no proof for the model"):
        rc.check_proof(model.with_horizon(3), proof)


@pytest.mark.parametrize("value", [1e308, 5e-324, 0.9, 1.1])
def test_points_are_distributions(value: float) -> None:
    model, _, proof = proven("tunnels")
    prob = proof.point_prob.copy()
    prob[proof.point_ptr[1] : proof.point_ptr[2]] = value
    with pytest.raises(rc.ProofError, match="do not add up to 1|or huge"):
        rc.check_proof(model, proof._replace(point_prob=prob))


def test_what_is_no_number_holds_nothing_up() -> None:
    needed, value = np.array([np.nan, 1.0, 1.0, -np.inf, -np.inf]), np.array([1.0, np.nan, 0.5, 1.0, -np.inf])
    assert _excess(needed, value).tolist() == [np.inf, np.inf, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("name", ["weights", "objective", "table", "entry_value"])
def test_numbers_whose_products_overflow_are_refused(name: str) -> None:
    model, _, proof = proven("tunnels")
    huge = np.full_like(getattr(proof, name), -1e308 if name == "entry_value" else 1e308)
    with pytest.raises(rc.ProofError, match="no proof for the model"):
        rc.check_proof(model.with_budget(0.0), proof._replace(**{name: huge}))


def test_a_cover_of_many_points_is_refused() -> None:
    model, _, proof = proven("tunnels")
    target, many = np.zeros(100_000, dtype=np.int64), np.array([0, 100_000])
    one = dict.fromkeys(("cover_point", "cover_action", "cover_observation"), np.zeros(1, dtype=np.int64))
    with pytest.raises(rc.ProofError, match="too many points"):
        rc.check_proof(model, proof._replace(cover_target=target, cover_ptr=many, **one))


def test_no_proof_is_checked_without_a_discount() -> None:
    proof = proven("ce")[2]
    with pytest.raises(rc.ProofError, match="discounts above 0"):
        rc.check_proof(rc.problems.make("ce", discount=0.0), proof)


def test_a_proof_without_entries_is_its_tables() -> None:
    model, result, proof = proven("tunnels")
    names = ("entry_point", "entry_mode", "entry_level", "entry_value")
    bare = proof._replace(**{name: getattr(proof, name)[:0] for name in names})
    found = rc.check_proof(model, bare)
    assert not found.confirmed
    assert result.upper < found.upper < math.inf


def test_rounding_allows_for_all_that_a_policy_may_lose() -> None:
    """One belief may stand for its twin, from which the same policy may lose the most that there is, step by step."""
    model, _, proof = proven("tunnels")
    fined = model._changed(arrays=model.arrays._replace(reward=np.where(model.terminal[:, None], 0.0, -1e6)))
    low = proof._replace(table=np.zeros_like(proof.table), entry_value=np.zeros_like(proof.entry_value), upper=0.0)
    found = rc.check_proof(fined, low)
    assert not found.confirmed
    assert found.upper >= 4e-13 * 1e6 / (1 - model.discount)


def test_limits_of_steps_have_room_for_beliefs_that_stand_for_one_another() -> None:
    model, _, proof = proven("tunnels")
    limited = model._changed(arrays=model.arrays._replace(step_limit=np.array([0.5])))
    q = Inequalities(limited, proof)
    steps = 37 / (1 - model.discount) + len(proof.entry_point)
    assert 0.5 * (1 + 4e-13 * steps) < q.step_limit[0] < 0.5 * (1 + 1e-6)


def with_entries(path: Path, change: Callable[[zipfile.ZipFile, zipfile.ZipFile], None]) -> None:
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
        change(old, new)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_that_are_read_in_two_ways_or_blown_up_are_refused(tmp_path: Path) -> None:
    model, _, proof = proven("ce")
    path = tmp_path / "bound.rcproof"

    def twice(old: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
        for name in (*old.namelist(), "proof.json"):
            new.writestr(name, old.read(name))

    def packed(old: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
        for name in old.namelist():
            new.writestr(name, old.read(name), zipfile.ZIP_DEFLATED)

    def huge(old: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
        for name in old.namelist():
            content = old.read(name)
            if name == "table.npy":
                held = io.BytesIO()
                header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 20, 1 << 20, 1 << 20)}
                np.lib.format.write_array_header_1_0(held, header)
                content = held.getvalue()
            new.writestr(name, content)

    for change, told in ((twice, "two entries of one name"), (packed, "compressed"), (huge, "damaged")):
        rc.save_proof(path, proof, model)
        with_entries(path, change)
        with pytest.raises(rc.ProofError, match=told):
            rc.load_proof(path, model)


KINDS = [
    ("_OfBudgetSearch", "tunnels", {}, "arcs"),
    ("_OfBudgetSearch", "crs-4-4", {"cost_discount": 1, "budget": 2.0}, "arcs"),
    ("_OfGraphSearch", "crs-4-4", {}, "cgcp"),
    ("_OfGraphSearch", "tunnels", {}, "sarsop"),
    ("_OfFewBeliefs", "mini-hall", {}, "arcs"),
    ("_OfPointBasedSearch", "maze20", {"budget": math.inf}, "arcs"),
]


@pytest.mark.parametrize("planted", [-1e6, -math.inf])
@pytest.mark.parametrize(("kind", "name", "parameters", "solver"), KINDS)
def test_a_search_that_says_anything_proves_nothing_false(
    monkeypatch: pytest.MonkeyPatch, kind: str, name: str, parameters: dict[str, Any], solver: str, planted: float
) -> None:
    """Values start from what a search says; what they are raised to is the least that the inequalities allow."""
    model = rc.problems.make(name, **parameters)
    attained = rc.solve(model, solver, epsilon=0.2, time_limit=5).lower
    asked: list[str] = []
    searched = getattr(evidence, kind)

    def lying(honest: Callable[..., Any]) -> Callable[..., Any]:
        def lie(self: Any, *of: Any) -> Any:
            asked.append(type(self).__name__)
            known = honest(self, *of)
            return np.where(np.isfinite(known), planted, known)

        return lie

    for which in ("exact_at", "relaxed_at"):
        monkeypatch.setattr(searched, which, lying(getattr(searched, which)))
    result = rc.solve(model, solver, epsilon=0.2, time_limit=5, proof=True)
    assert kind in asked
    assert result.proof is not None
    assert rc.check_proof(model, result.proof).upper >= attained - 1e-9 * abs(attained)


@pytest.mark.parametrize("seed", range(12))
def test_budgets_of_several_costs_are_each_rounded_up(seed: int) -> None:
    """An entry with less of one budget than is left does not answer, however much it has of the other."""
    model = random_case(seed).model
    if model.n_costs < 2 or model.discount == 0:
        return
    result = rc.solve(model, epsilon=0.05, time_limit=2, proof=True)
    assert result.proof is not None
    q = Inequalities(model, result.proof)
    for i in np.flatnonzero(result.proof.entry_mode == -1)[:50].tolist():
        for k in range(model.n_costs):
            more = q.budget[i].copy()
            more[k] = np.nextafter(more[k], np.inf)
            found = int(q.find(result.proof.entry_point[i : i + 1], -1, more[None])[0])
            assert found < 0 or (q.budget[found] >= more).all()
