"""``rcpomdp verify``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._json_values import finite
from ..errors import InputError
from . import arguments
from .common import FAILED, AsJson, Budgets, Parameters, ProblemOfFile, app
from .printing import print_json, stdout, verification_table

if TYPE_CHECKING:
    from ..verification import ProofCheck


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
            min=0, help="Ask only for the first steps, with what is expected after them; the k that the file claims."
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
    name, model, facts = arguments.model_of_file(policy, problem, param, budget)
    from ..io import load_policy, load_proof
    from ..solvers.checks import check_whole
    from ..verification import verify

    claims = facts["claims"] or {}
    if k is None and (claimed := claims.get("k")) is not None:
        check_whole(claimed, "the k that the file claims", 1)
        k = claimed
    held = None if proof is None else load_proof(proof, model)
    found = verify(model, load_policy(policy, model), claims, k=k, proof=held)
    if as_json:
        limits = [finite(limit) for limit in model.budget]
        told = found.summary() | {"k": k, "budget": limits, "claims": facts["claims"]}
        print_json({"problem": name, "policy": policy, **told})
    else:
        where = "" if k is None else f" at histories shorter than {k}"
        print(f"VERIFIED{where}" if found.verified else f"NOT VERIFIED{where}: {found.problem}")
        stdout().print(verification_table(found, claims, model))
        if found.proof is not None:
            print(_proven(found.proof))
        if found.note is not None:
            print(f"note: {found.note}")
    raise typer.Exit(0 if found.verified else FAILED)


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
        print("VERIFIED" if found.confirmed else f"NOT VERIFIED: {found.problem}")
        print(_proven(found))
    raise typer.Exit(0 if found.confirmed else FAILED)


def _proven(found: ProofCheck) -> str:
    what = (
        "no policy keeps the budget" if found.upper == -math.inf else f"no policy is worth more than {found.upper:.9g}"
    )
    return f"proven: {what} ({found.points:,} beliefs, {found.entries:,} bounds)"
