"""The result that every solver returns."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from .._types import FloatArray
from ..errors import InputError
from ..model import CPOMDP
from ..policies import Policy
from ..verification.proof import Proof
from ..views import notebook

OPTIMAL = "optimal"  # the gap is at most epsilon
TIME_LIMIT, WORK_LIMIT, MEMORY_LIMIT, INTERRUPTED = "time limit", "work limit", "memory limit", "interrupted"
ITERATION_LIMIT = "iteration limit"
STALLED = "stalled"  # rounding leaves nothing to improve
INFEASIBLE = "infeasible"  # proven: no policy keeps the budget
CONVERGED = "converged"  # of a method without bounds: nothing changes any more
LIMITS = (TIME_LIMIT, WORK_LIMIT, MEMORY_LIMIT, ITERATION_LIMIT)
STATUSES = (OPTIMAL, CONVERGED, *LIMITS, INTERRUPTED, STALLED, INFEASIBLE)

# What a policy file says of its policy, in this order.
_CLAIMS = (
    *("solver", "variant", "objective", "status", "lower", "upper", "reward", "cost", "sure_cost"),
    *("admissible", "horizon", "k", "budget", "epsilon", "seed", "seconds", "setup_seconds"),
    *("standard_error", "runs", "promise"),
)


class TracePoint(NamedTuple):
    """The bounds at one moment, and the work done until then."""

    seconds: float
    lower: float
    upper: float
    trials: int
    beliefs: int
    plans: int

    def in_words(self) -> str:
        """The bounds and the work as a line of text; below there may be no bound yet."""
        if self.lower == -math.inf and self.upper == math.inf:
            bounds = f"sweep {self.trials}"
        elif self.lower == -math.inf:
            bounds = f"no lower bound yet, at most {self.upper:.5g}"
        else:
            bounds = f"[{self.lower:.5g}, {self.upper:.5g}], gap {self.upper - self.lower:.3g}"
        return f"{self.seconds:.0f} s, {bounds}, {self.beliefs:,} beliefs, {self.plans:,} plans"


class CandidateValue(NamedTuple):
    """A policy that a solve had the choice of, and its simulated reward."""

    name: str
    reward: float
    standard_error: float

    def summary(self) -> dict[str, Any]:
        """The name and numbers, ready for JSON."""
        return {
            "name": self.name,
            "reward": finite(self.reward),
            "standard_error": finite(self.standard_error),
        }


@dataclass(frozen=True)
class Result:
    """Bounds on the optimum, a policy that attains one of them, and how they came about."""

    solver: str
    objective: str
    status: str
    lower: float
    upper: float
    reward: float  # expected discounted reward of the policy
    cost: FloatArray  # [K] its expected discounted costs
    sure_cost: FloatArray  # [K] what no history under it exceeds, as far as its plans tell
    policy: Policy[Any]
    seconds: float  # of search
    setup_seconds: float  # of starting bounds and whatever else comes first
    trace: list[TracePoint] = field(repr=False)
    variant: str | None = None  # of the algorithm, where it has several
    admissible: bool | None = None  # proven to keep the budget in every history; None: the solver makes no such claim
    horizon: int | None = (
        None  # k: no history of up to k steps spends more than the budget; None: for ever, or no claim
    )
    k: int | None = None  # the budget holds at histories shorter than this; None: at all of them, or another criterion
    visits: int | None = None  # beliefs that the search looked at, as often as it did; None: it does not count them
    tree_nodes: int | None = None  # histories in the tree of a search that grows one
    seed: int | None = None  # of a solver with random choices
    suffices: FloatArray | None = None  # [K] a budget that some known policy keeps, as this solver means it
    needed: FloatArray | None = None  # [K] the least budget of each cost that is not ruled out
    standard_error: FloatArray | None = None  # [1 + K] of reward and cost, if they are means of simulated runs
    runs: int | None = None  # that they are means of: the standard error of a few says little
    route: str | None = None  # the searches that ran, and why these
    promise: float | None = None  # the reward that is proven of the policy, where another one attains `lower`
    candidates: tuple[CandidateValue, ...] = ()  # policies that simulated runs chose among, the chosen one first
    epsilon: float | None = None  # that was asked for; `rc.solve` notes it
    options: dict[str, Any] = field(default_factory=dict, repr=False)  # that `rc.solve` was given, but for functions
    model: CPOMDP | None = field(default=None, repr=False)  # that was solved; `rc.solve` notes it
    proof: Proof | None = field(default=None, repr=False)  # of the upper bound, if one was asked for
    evidence: Any = field(default=None, repr=False)  # the search, while a proof may be asked for

    @classmethod
    def of_search(
        cls,
        solver: str,
        status: str,
        trace: list[TracePoint],
        setup_seconds: float,
        *,
        policy: Policy[Any],
        reward: float,
        cost: FloatArray,
        sure_cost: FloatArray,
        objective: str = "reward",
        **more: Any,
    ) -> Result:
        """The result of a search, with the bounds and seconds at the end of its trace; `more` are further fields."""
        last = trace[-1]
        return cls(
            solver=solver,
            objective=objective,
            status=status,
            lower=last.lower,
            upper=last.upper,
            reward=reward,
            cost=cost,
            sure_cost=sure_cost,
            policy=policy,
            seconds=last.seconds,
            setup_seconds=setup_seconds,
            trace=trace,
            **more,
        )

    @property
    def gap(self) -> float:
        """Upper minus lower bound."""
        return self.upper - self.lower

    @property
    def advice(self) -> list[str]:
        """Sentences on what to do about a gap that is larger than epsilon; none where there is nothing to do."""
        from .advice import advice  # which asks the registry, which knows results

        return advice(self)

    def summary(self) -> dict[str, Any]:
        """Everything but policy and trace as plain numbers, ready for JSON; what is not finite is None."""
        last = self.trace[-1]
        return {
            "solver": self.solver,
            "variant": self.variant,
            "objective": self.objective,
            "status": self.status,
            "lower": finite(self.lower),
            "upper": finite(self.upper),
            "gap": finite(self.gap),
            "reward": finite(self.reward),
            "cost": [finite(float(c)) for c in self.cost],
            "sure_cost": [finite(float(c)) for c in self.sure_cost],
            "admissible": self.admissible,
            "horizon": self.horizon,
            **({} if self.k is None else {"k": self.k}),
            "seconds": self.seconds,
            "setup_seconds": self.setup_seconds,
            "trials": last.trials,
            "beliefs": last.beliefs,
            "plans": last.plans,
            "visits": self.visits,
            "tree_nodes": self.tree_nodes,
            "seed": self.seed,
            **{
                name: [finite(float(c)) for c in values]
                for name, values in (
                    ("suffices", self.suffices),
                    ("needed", self.needed),
                    ("standard_error", self.standard_error),
                )
                if values is not None
            },
            **({} if self.runs is None else {"runs": self.runs}),
            **({} if self.route is None else {"route": self.route}),
            **({} if self.promise is None else {"promise": finite(self.promise)}),
            **({"candidates": [each.summary() for each in self.candidates]} if self.candidates else {}),
        }

    def claims(self, model: CPOMDP) -> dict[str, Any]:
        """Claims that a policy file makes of the policy; `verify` checks what of it can be checked.

        >>> import rcpomdp as rc
        >>> model = rc.problems.make("ce")
        >>> claims = rc.solve(model, epsilon=0.01).claims(model)
        >>> claims["status"], claims["sure_cost"], claims["options"]
        ('optimal', [5.0], {'epsilon': 0.01})
        """
        told = self.summary() | {"budget": [finite(limit) for limit in model.budget], "epsilon": self.epsilon}
        return {name: told[name] for name in _CLAIMS if name in told} | {"options": self.options}

    def save(
        self,
        path: str | os.PathLike[str],
        model: CPOMDP | None = None,
        problem: str | Mapping[str, Any] | None = None,
    ) -> None:
        """Save the policy and what is claimed of it, as ``rcpomdp solve --out`` does.

        Parameters
        ----------
        path : ends in .rcp; the file appears whole or not at all
        model : the one that was solved, which a result of `rc.solve` remembers
        problem : its name or file, or ``{"name": ..., "parameters": {...}}``, so that the file tells which model it is
            for; models of `rc.problems.make` and `rc.load_model` remember that
        """
        from ..io import save_policy  # reads policies of every kind, and is slow to import

        solved = self.model if model is None else model
        if solved is None:
            raise InputError("the result does not say which model it is of: give the model")
        save_policy(path, self.policy, solved, self.claims(solved), problem)

    def __repr__(self) -> str:
        reward, *costs = self.totals()
        bounds = f"{self.objective} in [{self.lower:.6g}, {self.upper:.6g}]"
        kind = "policy"
        if self.lower == -math.inf and self.upper < math.inf and self.status != INFEASIBLE:
            bounds = f"no policy within the budget yet, at most {self.upper:.6g}"
            kind = "another policy, not known to keep it,"
        elif self.status == INFEASIBLE:
            bounds = "no policy keeps the budget"
            kind = "a policy that breaks it,"
        spent = f" and cost {', '.join(costs)}" if costs else ""
        runs = "" if self.standard_error is None else f" in {self.runs or 'some'} simulated runs"
        return f"Result of {self.solver}: {self.status}, {bounds}, {kind} with reward {reward}{spent}{runs}"

    def totals(self, digits: int = 6) -> list[str]:
        """Reward and costs of the policy in words: those that are means of runs have few digits, and their errors."""
        values = [float(self.reward), *np.atleast_1d(self.cost).tolist()]
        if self.standard_error is None:
            return [f"{value:.{digits}g}" for value in values]
        errors = self.standard_error.tolist()
        return [
            f"{value:.4g} ± {se:.2g}" if se else f"{value:.{digits}g}" for value, se in zip(values, errors, strict=True)
        ]

    def _repr_html_(self) -> str:
        return notebook.result(self)
