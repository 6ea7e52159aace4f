"""What a result leaves to be desired, in sentences on stderr, and the exit code of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .common import INFEASIBLE, STOPPED, complain, say

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..solvers import Result, Solver


def judge(result: Result, model: CPOMDP, solver: Solver) -> int:
    """Say what a result leaves to be desired, and return the exit code."""
    from ..solvers.advice import advice

    _tell_of_budgets(result, model, solver)
    if result.status in ("optimal", "converged"):
        return 0
    if result.status == "infeasible":
        return complain(f"infeasible: no policy keeps {_needs(result, model)}", INFEASIBLE)
    complain(f"{result.status}: {_found(result, model, solver)}", STOPPED)
    for sentence in advice(result, shell=True):
        say(sentence)
    return STOPPED


def unproven(result: Result, model: CPOMDP) -> str:
    """What a saved policy does not promise."""
    if result.k is not None and result.lower > -math.inf:
        return f"; it keeps the budget at histories shorter than {result.k} alone"
    return "" if result.admissible or not model.n_costs else "; it is NOT proven to keep the budget in every history"


def _tell_of_budgets(result: Result, model: CPOMDP, solver: Solver) -> None:
    """Name costs above their budgets, or say that they are not proven to be below."""
    from ..solvers import Criterion

    if result.admissible is None:
        why = f": {solver.name} does not look at budgets" if solver.criterion is Criterion.NO_BUDGET else ""
        for name, cost, limit in zip(model.costs, result.cost, model.spending_limit, strict=True):
            if cost == math.inf:
                say(f"{name} is infinite, shown as '-': it is not discounted, and the policy spends it for ever{why}")
            elif cost > limit:
                say(f"{name} {cost:.6g} is above its budget{why}")
    elif not result.admissible and result.status != "infeasible":
        steps = f", only for {result.horizon} steps" if result.horizon else ""
        say(f"the policy is not proven to keep the budget in every history{steps}")


def _needs(result: Result, model: CPOMDP) -> str:
    """Which budgets cannot be kept where, and what is needed of each."""
    needs = [
        f"{name} {model.budget[k]:.6g} is given"
        + (f", at least {result.needed[k]:.9g} is needed" if result.needed is not None else "")
        + (
            f", {result.suffices[k]:.9g} suffices"
            if result.suffices is not None and math.isfinite(result.suffices[k])
            else ""
        )
        + (f", at most {model.step_limit[k]:.6g} a step" if math.isfinite(model.step_limit[k]) else "")
        for k, name in enumerate(model.costs)
    ]
    where = "in expectation" if result.admissible is None else "in every history"
    if result.k is not None and result.k > 1:
        where = f"at every history shorter than {result.k}"
    together = result.needed is not None and (result.needed <= model.spending_limit).all()
    budget = "the budgets together" if together and model.n_costs > 1 else "the budget"
    budget += " and the limits of steps" if model.has_step_limits else ""
    return f"{budget} {where}: {'; '.join(needs)}"


def _found(result: Result, model: CPOMDP, solver: Solver) -> str:
    """What there is when a search was stopped."""
    if result.lower > -math.inf:
        return f"the gap is {result.gap:.3g}" + ("" if result.epsilon is None else f", above {result.epsilon:g}")
    if result.upper == math.inf:
        return f"there is a policy, but {result.solver} gives no bounds"
    if _claims_no_lower_bound(result, model, solver):
        return (
            f"there is a policy, but {result.solver} claims no lower bound; none is worth more than {result.upper:.6g}"
        )
    return f"no policy that keeps the budget was found yet, and none is worth more than {result.upper:.6g}"


def _claims_no_lower_bound(result: Result, model: CPOMDP, solver: Solver) -> bool:
    """True if there is no lower bound though the policy keeps the budget as the solver means it: none is claimed."""
    from ..solvers import Criterion

    is_within = bool((result.cost <= model.spending_limit).all())
    return solver.criterion is Criterion.NO_BUDGET or (result.admissible is not False and is_within)
