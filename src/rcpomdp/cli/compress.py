"""``rcpomdp compress``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._json_values import finite
from . import arguments
from .common import FAILED, AsJson, Budgets, Parameters, ProblemOfFile, app, say
from .printing import print_json, solution_table, stdout

if TYPE_CHECKING:
    from ..compression import Compression
    from ..model import CPOMDP


@app.command("compress")
def _compress(
    policy: Annotated[str, typer.Argument(metavar="FILE", help="Path of a policy file.")],
    loss: Annotated[float, typer.Option(min=0.0, help="Reward that may be lost, in all.")] = 0.0,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Save the smaller policy, as in small.rcp.")] = None,
    problem: ProblemOfFile = None,
    param: Parameters = None,
    budget: Budgets = None,
    time_limit: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="After which no more nodes are tried.")
    ] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Find a controller with fewer nodes that earns as much, or little less, and keeps the budget."""
    name, model, facts = arguments.model_of_file(policy, problem, param, budget)
    from ..compression import compress
    from ..io import load_policy, save_policy
    from ..io.atomic import check_writable
    from ..io.policy.file import check_ending

    if out is not None:
        check_ending(out)
        check_writable(out)
    found = compress(model, load_policy(policy, model), loss, time_limit)
    summary = {"problem": name, "policy": policy, **found.summary()}
    if as_json:
        print_json(summary)
    else:
        del summary["steps"], summary["reason"]
        stdout().print(solution_table(summary))
    if out is not None:
        recipe = facts.get("problem") if problem is None else {"name": name, "parameters": arguments.parameters(param)}
        save_policy(out, found.policy, model, _claims(found, facts["claims"] or {}, model), recipe)
        say(f"policy saved to {out}")
    if not found.after.verified:
        say(f"the policy is not verified: {found.after.problem}")
        raise typer.Exit(FAILED)


def _claims(found: Compression, before: dict[str, Any], model: CPOMDP) -> dict[str, Any]:
    """The claims of a smaller policy, as its verification found them; a bound on all policies stays what it was."""
    after, limits = found.after, [finite(limit) for limit in model.budget]
    kept = {key: before[key] for key in ("solver", "variant") if before.get(key) is not None}
    if before.get("objective", "reward") == "reward" and before.get("budget") == limits:
        kept |= {"upper": before.get("upper")}
    proven = {"lower": after.reward, "admissible": True} if after.verified else {}
    return {
        **kept,
        **proven,
        "reward": after.reward,
        "cost": after.cost,
        "sure_cost": after.sure_cost,
        "budget": limits,
        "compressed": {"nodes_before": found.nodes, "loss": found.loss},
    }
