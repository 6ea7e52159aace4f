"""``rcpomdp verify``."""

from __future__ import annotations

from typing import Annotated

import typer

from .._json_values import finite
from . import arguments
from .common import FAILED, AsJson, Budgets, Parameters, ProblemOfFile, app, tell
from .printing import print_json, stdout, verification_table


@app.command("verify")
def _verify(
    policy: Annotated[str, typer.Argument(metavar="FILE", help="Path of a policy file.")],
    problem: ProblemOfFile = None,
    param: Parameters = None,
    budget: Budgets = None,
    k: Annotated[
        int | None,
        typer.Option(
            min=0, help="Ask only for the first steps, with what is expected after them; the k that the file claims."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a policy keeps its budget in every history, and is worth what its file claims."""
    name, model, facts = arguments.model_of_file(policy, problem, param, budget)
    from ..io import load_policy
    from ..solvers.checks import check_whole
    from ..verification import verify

    claims = facts["claims"] or {}
    if k is None and (claimed := claims.get("k")) is not None:
        check_whole(claimed, "the k that the file claims", 1)
        k = claimed
    found = verify(model, load_policy(policy, model), claims, k=k)
    if as_json:
        limits = [finite(limit) for limit in model.budget]
        told = found.summary() | {"k": k, "budget": limits, "claims": facts["claims"]}
        print_json({"problem": name, "policy": policy, **told})
    else:
        where = "" if k is None else f" at histories shorter than {k}"
        tell(f"VERIFIED{where}" if found.verified else f"NOT VERIFIED{where}: {found.problem}")
        stdout().print(verification_table(found, claims, model))
        if found.note is not None:
            tell(f"note: {found.note}")
    raise typer.Exit(0 if found.verified else FAILED)
