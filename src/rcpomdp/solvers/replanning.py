"""Planning anew at the moment of overspending: what a policy still collects, and what it could within what is left.

Where a run overspends deliberately (`simulation.overspending`), at history h_t with belief b and budget d left, the
policy goes on to collect some reward. A plan that keeps d instead could collect up to V*(b, d), which ARCS bounds. In
the units of the root the policy's part is ``γ^t`` times what it collects, and planning anew loses the difference: what
the policy gains by breaking its promise at that moment, and what whoever plans anew at each step does not attain.

The policy's part is that of the run itself, up to its last step. Runs are independent, so that the first ones are a
fair sample of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from ..errors import InputError
from ..kernels.simulation.rollout import NEVER
from ..model import CPOMDP
from ..policies.base import Policy
from ..simulation.estimates import Estimate, estimate, plain
from ..simulation.simulate import Simulation
from ..simulation.trajectory import Step, trajectory
from .arcs.solve import arcs
from .checks import is_number


class Replanning(NamedTuple):
    """Means over runs that overspend deliberately, from the step on at which they do; in the units of the root."""

    runs: int  # looked at
    solved: int  # pairs of belief and budget that were planned anew
    before: Estimate  # reward until then
    collected: Estimate  # reward that the policy collects from then on, in the steps that were simulated
    lower: Estimate  # of the best plan that keeps what is left, from below
    upper: Estimate  # from above
    loss: Estimate  # collected minus lower

    def summary(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return {name: plain(value) if isinstance(value, Estimate) else value for name, value in self._asdict().items()}

    def __str__(self) -> str:
        return (
            f"of {self.runs} runs that overspend deliberately the policy still collects {_text(self.collected)}, "
            f"an admissible plan with what is left {_text(self.lower)} to {_text(self.upper)}"
        )


def replan(runs: Simulation, policy: Policy[Any], seconds: float, most_runs: int = 50) -> Replanning | None:
    """Plan anew where runs overspend deliberately; None if none is proven to.

    Parameters
    ----------
    runs : simulated with ``deliberate=True``
    policy : the one that was simulated
    seconds : of search for each pair of belief and budget
    most_runs : to look at

    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> policy = rc.policies.blind(model, "tunnel-A")
    >>> found = replan(rc.simulate(model, policy, runs=100, deliberate=True), policy, seconds=1.0)
    >>> round(found.collected.mean, 3), round(found.upper.mean, 3)  # through the rocks of tunnel A, or out by B
    (12.0, 0.0)
    """
    if runs.deliberate is None:
        raise InputError("only runs that were simulated with deliberate=True can be planned anew")
    if not is_number(seconds) or not seconds > 0:
        raise InputError(f"the time to plan anew must be above 0, not {seconds!r}")
    model = runs.model
    these = np.flatnonzero(runs.deliberate.step != NEVER)[:most_runs]
    known: dict[bytes, tuple[float, float]] = {}
    rows = []
    for run in these.tolist():
        steps = trajectory(model, policy, runs.steps, runs.seed, run)
        if steps[-1].reward != runs.outcome.reward[run]:
            continue  # a policy that solves while it runs went by the clock: this is another run
        moment = steps[int(runs.deliberate.step[run])]
        there = _from_there(model, moment)
        key = there.initial_belief.tobytes() + np.asarray(there.budget).tobytes()
        if key not in known:
            found = arcs(there, time_limit=seconds)
            known[key] = (found.lower, found.upper)
        lower, upper = (moment.weight * value for value in known[key])
        rows.append((moment.reward, steps[-1].reward - moment.reward, lower, upper))
    # Where a deliberate step is proven only by what came after it, the moment may have nothing left that is admissible.
    possible = np.array([row for row in rows if math.isfinite(row[2])])
    if not possible.size:
        return None
    before, collected, low, high = possible.T
    return Replanning(
        len(possible),
        len(known),
        estimate(before),
        estimate(collected),
        estimate(low),
        estimate(high),
        estimate(collected - low),
    )


def _from_there(model: CPOMDP, moment: Step) -> CPOMDP:
    """The model from a moment of a run on: its belief, and the budget that is left in the units of that step."""
    left = np.maximum(0.0, np.asarray(model.budget) - moment.spent) / moment.cost_weight
    return model.with_initial_belief(moment.belief.dense(model.n_states)).with_budget(left)


def _text(shown: Estimate) -> str:
    return f"{shown.mean:.4g}" + ("" if finite(shown.se) is None else f" ± {shown.se:.2g}")
