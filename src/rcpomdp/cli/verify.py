"""``rcpomdp verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._json_values import finite
from ..errors import InputError
from . import arguments
from .common import FAILED, AsJson, Budgets, Parameters, ProblemOfFile, app, tell
from .printing import claim_title, print_json, stdout, text, verification_table

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..verification import ProofCheck

_OF_ANY_BUDGET = ("reward", "cost", "sure_cost", "standard_error", "k")  # claims that hold whatever the budget


@app.command("verify")
def _verify(
    policy: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Path of a policy file; none checks a proof alone.")
    ] = None,
    problem: ProblemOfFile = None,
    param: Parameters = None,
    budget: Budgets = None,
    k: Annotated[
        int | None,
        typer.Option(
            min=1, help="Ask only for the first steps, with what is expected after them; the k that the file claims."
        ),
    ] = None,
    proof: Annotated[
        str | None, typer.Option(metavar="FILE", help="A proof of the upper bound, by `rcpomdp solve --proof`.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a policy keeps its budget in every history, and is worth what its file claims; or check a proof."""
    if policy is None:
        if proof is None:
            raise InputError("there is nothing to verify: name a policy file, or a proof with --proof")
        _verify_proof(proof, problem, param, budget, as_json)
        return
    name, own, facts = arguments.model_of_file(policy, problem, param, budget, keep_budget=True)
    is_asked = bool(budget) or "budget" in arguments.parameters(param)
    model, where, made_for = own, "", _made_for(facts, own)
    if problem is None and not is_asked and made_for is not None:
        model = own.with_budget(made_for)
        if not _same_budget(own, model):
            where = f" for the file's own budget, {_budget(model)}; that of {name} is {_budget(own)}"
    from ..io import load_policy, load_proof
    from ..solvers.checks import check_whole
    from ..verification import verify

    claims = _claims(facts["claims"] or {}, made_for, model, is_asked)
    if k is None and (claimed := claims.get("k")) is not None:
        check_whole(claimed, "the k that the file claims", 1)
        k = claimed
    held = None if proof is None else load_proof(proof, model)
    found = verify(model, load_policy(policy, model), claims, k=k, proof=held)
    if as_json:
        limits = [finite(limit) for limit in model.budget]
        own_limits = [finite(limit) for limit in own.budget]
        told = found.summary() | {"k": k, "budget": limits, "problem_budget": own_limits, "claims": facts["claims"]}
        print_json({"problem": name, "policy": policy, **told})
    else:
        shorter = "" if k is None else f" at histories shorter than {k}"
        left = ", ".join(claim_title(claim) for claim in found.unchecked)
        unchecked = f"; not checked: {left}" if left else ""
        tell(f"VERIFIED{shorter}{where}{unchecked}" if found.verified else f"NOT VERIFIED{shorter}: {found.problem}")
        stdout().print(verification_table(found, model))
        if found.proof is not None:
            tell(_proven(found.proof))
        if found.note is not None:
            tell(f"note: {found.note}")
    raise typer.Exit(0 if found.verified else FAILED)


def _made_for(facts: dict[str, Any], model: CPOMDP) -> list[float | None] | None:
    """The budget that a file was made for; None if it does not say, or was made for another model."""
    made_for = facts.get("model") or {}
    return made_for["budget"] if made_for.get("fingerprint") == model.fingerprint else None


def _claims(
    claims: dict[str, Any], made_for: list[float | None] | None, model: CPOMDP, is_asked: bool
) -> dict[str, Any]:
    """The claims of a file, its budget among them; those of another budget than the one asked for are left out."""
    if made_for is None:
        return claims
    if _same_budget(model, model.with_budget(made_for)):
        return {"budget": made_for, **claims}
    if not is_asked:
        return claims | {"budget": made_for}
    return {name: claims[name] for name in _OF_ANY_BUDGET if name in claims}


def _same_budget(one: CPOMDP, other: CPOMDP) -> bool:
    return bool((one.budget == other.budget).all())


def _budget(model: CPOMDP) -> str:
    return ", ".join("unlimited" if finite(limit) is None else text(float(limit)) for limit in model.budget)


def _verify_proof(
    path: str, problem: str | None, param: list[str] | None, budget: list[str] | None, as_json: bool
) -> None:
    """Check a proof without a policy, as one that there is none must be."""
    name, model = arguments.model_of_proof(path, problem, param, budget)
    from ..io import load_proof
    from ..verification import check_proof

    found = check_proof(model, load_proof(path, model))
    if as_json:
        told: dict[str, Any] = {"budget": [finite(limit) for limit in model.budget], **found.summary()}
        print_json({"problem": name, "proof": path, **told})
    else:
        tell("VERIFIED" if found.confirmed else f"NOT VERIFIED: {found.problem}")
        tell(_proven(found))
    raise typer.Exit(0 if found.confirmed else FAILED)


def _proven(found: ProofCheck) -> str:
    from ..model.validation import count

    return f"proven: {found.statement} ({count(found.points, 'belief')}, {count(found.entries, 'bound')})"
