"""Proofs of upper bounds: what solvers write is confirmed, and what is false is not."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rcpomdp as rc
from proof_damages import DAMAGES, attack
from random_cases import random_case
from rcpomdp.io import proof_info


def solved(name: str, solver: str = "arcs", epsilon: float = 1e-3, **parameters: Any) -> tuple[rc.CPOMDP, rc.Result]:
    model = rc.problems.make(name, **parameters)
    return model, rc.solve(model, solver, epsilon=epsilon, proof=True)


@pytest.mark.parametrize(
    ("name", "solver", "epsilon"),
    [
        ("ce", "arcs", 1e-3),
        ("ce", "cgcp", 1e-3),
        ("ce", "sarsop", 1e-3),
        ("tiger", "sarsop", 1e-3),
        ("tiger", "cgcp", 0.01),
        ("tiger", "arcs", 0.02),
        ("tunnels", "arcs", 1e-3),
        ("crs-4-4", "arcs", 0.02),
        ("crs-4-4", "cgcp", 0.02),
    ],
)
def test_what_a_solver_proves_is_confirmed(name: str, solver: str, epsilon: float) -> None:
    model, result = solved(name, solver, epsilon)
    assert result.proof is not None
    found = rc.check_proof(model, result.proof)
    assert found.confirmed
    assert found.problem is None
    assert found.upper == result.proof.upper == result.upper >= result.lower
    assert result.gap <= 2 * epsilon


@pytest.mark.parametrize("seed", range(40))
def test_no_proof_is_below_what_a_policy_attains(seed: int) -> None:
    model = random_case(seed).model
    if model.discount == 0:
        with pytest.raises(rc.InputError, match="discount is 0"):
            rc.solve(model, proof=True)
        return
    result = rc.solve(model, epsilon=0.05, time_limit=1, proof=True)
    if result.proof is None and result.status == "time limit":
        pytest.skip("time was up before anything was searched")
    assert result.proof is not None
    found = rc.check_proof(model, result.proof)
    assert found.confirmed
    assert found.upper >= result.lower - 1e-9 * max(1.0, abs(result.lower))
    if result.admissible:
        assert found.upper > -math.inf


INFEASIBLE = [("ce", {"budget": 4.0}), ("cheese-maze", {"budget": 0.1})]


@pytest.mark.parametrize(("name", "parameters"), INFEASIBLE)
def test_that_nothing_keeps_the_budget_is_proven(name: str, parameters: dict[str, Any]) -> None:
    model, result = solved(name, **parameters)
    assert result.status == "infeasible"
    assert result.proof is not None
    assert rc.check_proof(model, result.proof).upper == -math.inf
    enough = rc.check_proof(model.with_budget(20.0), result.proof)
    assert not enough.confirmed
    assert enough.upper > -math.inf


def test_a_policy_is_verified_with_its_proof() -> None:
    model, result = solved("ce")
    claims = result.claims(model)
    found = rc.verify(model, result.policy, claims, proof=result.proof)
    assert found.verified
    assert found.proof is not None
    assert found.proof.confirmed
    too_low = rc.verify(model, result.policy, claims | {"upper": 10 - 1e-4, "lower": 9.0}, proof=result.proof)
    assert not too_low.verified


def test_no_bound_vouches_for_itself() -> None:
    model, proof, attained = _proven("tiger")
    for mode in range(-1, len(proof.weights)):
        value = np.where((proof.entry_mode == mode)[:, None], proof.entry_value - 5.0, proof.entry_value)
        found = rc.check_proof(model, proof._replace(entry_value=value))
        assert found.upper >= attained
        assert found.excess > 1.0 or not (proof.entry_mode == mode).any()


def test_one_step_beliefs_are_the_models_own() -> None:
    model, proof, attained = _proven("maze20")
    assert proof.late_of.size
    assert rc.check_proof(model, proof).confirmed
    for wrong in (proof.late_of[:-1], np.zeros_like(proof.late_of)):
        with pytest.raises(rc.ProofError, match="late_of|table|said to be one"):
            rc.check_proof(model, proof._replace(late_of=wrong))
    table = proof.table.copy()
    table[:, model.n_states :] -= 1.0
    found = rc.check_proof(model, proof._replace(table=table))
    assert found.upper >= attained
    assert found.excess > 0.01


def test_the_inequality_that_fails_is_named() -> None:
    model, result = solved("tunnels")
    proof = result.proof
    assert proof is not None
    value = proof.entry_value.copy()
    at = np.flatnonzero((proof.entry_point == 0) & (proof.entry_mode == -1))
    value[at] -= 0.5
    found = rc.check_proof(model, proof._replace(entry_value=value, upper=proof.upper - 0.5))
    assert not found.confirmed
    assert found.problem is not None
    assert "at point 0 {" in found.problem
    assert "with budget " in found.problem


@pytest.mark.parametrize("where", ["fib_vectors", "exact_at"])
def test_an_unsound_bound_of_a_solver_is_caught(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    model = rc.problems.make("tunnels")
    honest = rc.solve(model)
    if where == "fib_vectors":  # the start of every bound is too low
        from rcpomdp.solvers.belief_graph import search

        real = search.fib_vectors
        monkeypatch.setattr(search, "fib_vectors", lambda of: real(of) - 0.9)
    else:  # what the search says of beliefs with a budget is too low
        from rcpomdp.solvers.proofs import evidence

        known = evidence._OfBudgetSearch.exact_at
        monkeypatch.setattr(evidence._OfBudgetSearch, "exact_at", lambda *of: known(*of) - 0.2)
    proof = rc.solve(model, proof=True).proof
    assert proof is not None
    assert rc.check_proof(model, proof).upper >= honest.lower
    lie = rc.check_proof(model, proof._replace(upper=honest.lower - 0.1))
    assert not lie.confirmed
    assert lie.problem is not None


@pytest.mark.parametrize("kind", range(len(DAMAGES)), ids=lambda kind: DAMAGES[kind].__name__.strip("_"))
@pytest.mark.parametrize("name", ["ce", "tunnels", "tiger", "maze20"])
def test_a_damaged_proof_is_not_believed(name: str, kind: int) -> None:
    model, proof, attained = _proven(name)
    for seed in range(4):
        assert attack(model, proof, attained, 100 * kind + seed, kind) != "BELIEVED"


_kept: dict[str, tuple[rc.CPOMDP, rc.Proof, float]] = {}


def _proven(name: str) -> tuple[rc.CPOMDP, rc.Proof, float]:
    if name not in _kept:
        unlimited = {"budget": math.inf} if name == "maze20" else {}  # one level, so that checking is quick
        model = rc.problems.make(name, **unlimited)
        result = rc.solve(model, epsilon=0.02, time_limit=2, proof=True)
        assert result.proof is not None
        _kept[name] = model, result.proof, result.lower
    return _kept[name]


def test_a_proof_is_saved_and_loaded(tmp_path: Path) -> None:
    model, proof, _ = _proven("tunnels")
    rc.save_proof(tmp_path / "bound.rcproof", proof, model, {"name": "tunnels", "parameters": {}})
    again = rc.load_proof(tmp_path / "bound.rcproof", model)
    for name, one, other in zip(proof._fields, proof, again, strict=True):
        assert np.array_equal(one, other), name
    assert proof_info(tmp_path / "bound.rcproof")["problem"] == {"name": "tunnels", "parameters": {}}
    with pytest.raises(rc.ProofError, match="another model"):
        rc.load_proof(tmp_path / "bound.rcproof", rc.problems.make("ce"))


def test_a_damaged_file_is_refused_or_harmless(tmp_path: Path) -> None:
    model, proof, attained = _proven("ce")
    path = tmp_path / "bound.rcproof"
    rc.save_proof(path, proof, model)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        bad = bytearray(whole)
        for at in rng.integers(len(whole), size=int(rng.integers(1, 4))):
            bad[at] = rng.integers(256)
        path.write_bytes(bytes(bad[: len(bad) - int(rng.integers(2)) * int(rng.integers(len(bad)))]))
        with suppress(rc.ProofError):
            assert rc.check_proof(model, rc.load_proof(path, model)).upper >= attained


def test_solvers_without_proofs_say_so() -> None:
    model = rc.problems.make("ce")
    with pytest.raises(rc.InputError, match="no option 'proof'"):
        rc.solve(model, "cpbvi", proof=True)
    with pytest.raises(rc.InputError, match="proof"):
        rc.solve(model, variant="paper", proof=True)


EDGES: list[tuple[str, dict[str, Any], str]] = [
    *(("hallway", {"budget": 0.0}, "arcs"), ("tunnels", {"budget": 0.0}, "arcs"), ("crs-4-4", {"budget": 0.0}, "arcs")),
    *(("cheese-maze", {"budget": 0.0}, "arcs"), ("tiger", {"budget": math.inf}, "arcs")),
    *(("tiger", {"budget": 1e9}, "arcs"), ("tiger", {"horizon": 1}, "arcs"), ("tunnels", {"horizon": 5}, "arcs")),
    *(("hallway", {"budget": 0.0}, "cgcp"), ("tunnels", {"horizon": 5}, "sarsop")),
]


@pytest.mark.parametrize(("name", "parameters", "solver"), EDGES)
def test_a_proof_is_no_weaker_at_the_edges(name: str, parameters: dict[str, Any], solver: str) -> None:
    model, result = solved(name, solver, epsilon=0.05, **parameters)
    assert result.status in ("optimal", "infeasible")
    assert result.proof is not None
    assert rc.check_proof(model, result.proof).confirmed


def test_no_proof_is_better_than_a_result_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    from rcpomdp.solvers.proofs import write

    def out_of_memory(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(write, "prove", out_of_memory)
    _, result = solved("ce")
    assert (result.proof, result.status) == (None, "memory limit")
    assert result.lower == pytest.approx(10.0)


def test_a_proof_reads_nothing_that_was_never_written() -> None:
    """Beliefs of a search that was stopped at once have no bounds over levels yet; their rows are what was there."""
    for junk in range(10):
        left = [np.full(n, 32_000 + junk, dtype=dtype) for n in (64, 256, 1024, 4096) for dtype in (np.int32, np.int64)]
        del left
        result = rc.solve(rc.problems.make("tiger"), time_limit=1e-9, proof=True)
        assert result.lower <= result.upper
