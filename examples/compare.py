"""What the examples share: a problem solved for budgets that hold in every history, beside budgets on average.

ARCS finds a policy that keeps its budgets in every history, with proven bounds; `rc.verify` goes through its
histories again. CGCP solves the C-POMDP, whose budgets hold on average. Simulated runs show what that means.
"""

from __future__ import annotations

from typing import NamedTuple

import rcpomdp as rc

RUNS, STEPS, SEED = 2000, 60, 0


class Comparison(NamedTuple):
    """Both answers to one problem, and their runs."""

    kept: rc.Result  # by ARCS: budgets hold in every history
    check: rc.Verification  # of its policy and its claims
    kept_runs: rc.Simulation
    average: rc.Result  # by CGCP: budgets hold in expectation
    average_runs: rc.Simulation


def compare(model: rc.CPOMDP, epsilon: float) -> Comparison:
    """Solve a model both ways to a proven gap of `epsilon`, and print what comes out."""
    kept = rc.solve(model, epsilon=epsilon)
    check = rc.verify(model, kept.policy, kept.summary())
    kept_runs = rc.simulate(model, kept.policy, RUNS, STEPS, SEED)
    average = rc.solve(model, "cgcp", epsilon=epsilon / 10, time_limit=20)
    average_runs = rc.simulate(model, average.policy, RUNS, STEPS, SEED)

    print(model)
    print("Budgets that hold in every history (ARCS):")
    print(f"  reward {kept.reward:.2f}, and no policy can do better than {kept.upper:.2f}")
    for name, budget, most in zip(model.costs, model.budget, check.sure_cost, strict=True):
        print(f"  {name}: no history spends more than {most:.2f} of {budget:g}")
    print(f"  {'verified' if check.verified else f'NOT VERIFIED: {check.problem}'}; {runs(kept_runs)}")
    print("Budgets that hold on average (CGCP):")
    print(f"  reward {average.reward:.2f}, and no such policy can do better than {average.upper:.2f}")
    for name, budget, cost in zip(model.costs, model.budget, average.cost, strict=True):
        print(f"  {name}: {cost:.2f} of {budget:g} expected at the start")
    print(f"  {runs(average_runs)}")
    return Comparison(kept, check, kept_runs, average, average_runs)


def runs(simulation: rc.Simulation) -> str:
    """In how many of the runs a budget was broken."""
    return f"{simulation.violation_rate.mean:.1%} of {simulation.runs} runs go over a budget"
