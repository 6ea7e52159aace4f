"""Verification of a policy: the question, the claims, and what is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from .._types import FloatArray
from ..errors import InputError, PolicyError
from ..model import CPOMDP
from ..policies import ControllerPolicy, MixturePolicy, PlanSetPolicy, Policy, StochasticControllerPolicy
from ..views.notebook import verification as _html
from .chain import Chain
from .k_admissible import as_one, keeps_for
from .pairs import Pairs
from .plan_set import Fault, prove
from .proof import Proof
from .proof_check import ProofCheck, check_proof

MOST_PAIRS = 200_000
_AT_LEAST = "the reward is what is proven at least; expected costs are not checked"
_DIGITS = 1e-6  # relative: a claim that agrees so far is not contradicted
_EXACT = 2_000  # pairs that are walked to tell the worst spending exactly, once the budget is known to hold


class Verification(NamedTuple):
    """The exact reward and costs of a policy, its sure cost, and whether budget and claims hold."""

    verified: bool
    problem: str | None  # the first thing that is wrong, or why nothing could be said
    history: tuple[tuple[str, str], ...]  # (action, observation) of each step until the promise is broken
    reward: float  # expected discounted reward
    cost: FloatArray  # [K] expected discounted costs
    error: float  # reward and costs are off by no more than this; of a plan set, what rounding took off the reward
    spent: FloatArray  # [K] some history spends this much
    sure_cost: FloatArray  # [K] no history spends more
    beliefs: int  # pairs of node and belief that were walked
    note: str | None = None  # what to keep in mind: of a plan set `reward` is a lower bound, and `cost` is not known
    proof: ProofCheck | None = None  # what a proof of the upper bound proves, if there is one

    def summary(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return {
            "verified": self.verified,
            "reason": self.problem,
            "history": [list(step) for step in self.history],
            "reward": finite(self.reward),
            "cost": [finite(c) for c in self.cost],
            "error": finite(self.error),
            "spent": [finite(c) for c in self.spent],
            "sure_cost": [finite(c) for c in self.sure_cost],
            "beliefs": self.beliefs,
            "note": self.note,
            **({} if self.proof is None else {"proof": self.proof.summary()}),
        }

    def __repr__(self) -> str:
        most = ", ".join(f"{c:.6g}" for c in self.sure_cost)
        spends = f", no history spends more than {most}" if most else ""
        said = "verified" if self.verified else f"NOT verified: {self.problem}"
        if math.isnan(self.reward):
            return f"Verification: {said}"
        least = "" if self.note is None else "at least "
        return f"Verification: {said}; reward {least}{self.reward:.6g}{spends}"

    def _repr_html_(self) -> str:
        return _html(self)


def verify(
    model: CPOMDP,
    policy: Policy[Any],
    claims: Mapping[str, Any] | None = None,
    most_pairs: int = MOST_PAIRS,
    k: int | None = None,
    proof: Proof | None = None,
) -> Verification:
    """Check that a policy keeps the model's budget in every history, and what is claimed of it.

    Parameters
    ----------
    policy : a controller, which may draw lots, or a mixture of controllers, each of which must keep the budget; or a
        plan set, of which it is checked plan by plan what it earns at least and spends at most
    claims : any of "lower" and "upper" (bounds on the optimal reward), "reward", "cost" and "sure_cost"
    most_pairs : of node and belief to walk; what takes more is not verified
    k : ask for less than the budget in every history: ``W(h_t) + β^t V_C(h_t) ≤ ĉ`` at steps t < k alone; lots
        that are yet to fall, or of which a history tells nothing, count by their average
    proof : of the upper bound, which is checked, too; a claimed bound that is below what it proves is not verified

    Examples
    --------
    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> found = rc.verify(model, rc.policies.blind(model, "tunnel-A"))
    >>> found.verified, found.problem
    (False, 'after tunnel-A:looks-rocky, tunnel-A:looks-clear the policy has spent 7.99999 > 5')
    >>> rc.verify(model, rc.policies.blind(model, "tunnel-B")).verified
    True
    """
    if not isinstance(model, CPOMDP):
        raise InputError(f"{model!r} is no model; rc.problems.make(name) makes one")
    told = _Claims.of(claims or {}, model)
    model.fade  # noqa: B018 - it refuses a discount of 1 where the process may go on for ever
    one = as_one(model, policy) if isinstance(policy, MixturePolicy) and k is not None else policy
    if isinstance(one, StochasticControllerPolicy):
        found = _stochastic(model, one, k, most_pairs)
    elif isinstance(policy, MixturePolicy):
        found = _mixture(model, policy, k, most_pairs)
    elif isinstance(policy, ControllerPolicy):
        found = _controller(model, policy, k, most_pairs)
    elif isinstance(policy, PlanSetPolicy):
        found = _plan_set(model, policy, k)
    else:
        kind = type(policy).__name__
        raise PolicyError(
            f"only controllers, mixtures of them and plan sets can be verified, not {kind}; simulate it instead"
        )
    problem = found.problem or told.broken_by(found)
    checked = None
    if proof is not None:
        checked = check_proof(model, proof)
        problem = problem or checked.refutes(told.upper)
    return found._replace(verified=problem is None, problem=problem, proof=checked)


def _mixture(model: CPOMDP, policy: MixturePolicy, k: int | None, most_pairs: int) -> Verification:
    drawn = [(float(w), p) for w, p in zip(policy.weights, policy.policies, strict=True) if w > 0]
    parts: list[Verification] = []
    problem: str | None = None
    history: tuple[tuple[str, str], ...] = ()
    for _, part in drawn:
        if isinstance(part, MixturePolicy):
            parts.append(_mixture(model, part, k, most_pairs))
        elif isinstance(part, ControllerPolicy):
            parts.append(_controller(model, part, k, most_pairs))
        else:
            raise PolicyError(f"only mixtures of controllers can be verified, not one with {type(part).__name__}")
        if problem is None and parts[-1].problem:
            problem, history = f"policy {len(parts)} of the mixture: {parts[-1].problem}", parts[-1].history
    total = sum(w for w, _ in drawn)
    weights = [w / total for w, _ in drawn]
    return Verification(
        verified=problem is None,
        problem=problem,
        history=history,
        reward=float(sum(w * part.reward for w, part in zip(weights, parts, strict=True))),
        cost=np.sum([w * part.cost for w, part in zip(weights, parts, strict=True)], axis=0),
        error=max(part.error for part in parts),
        spent=np.max([part.spent for part in parts], axis=0),
        sure_cost=np.max([part.sure_cost for part in parts], axis=0),
        beliefs=sum(part.beliefs for part in parts),
    )


def _stochastic(model: CPOMDP, policy: StochasticControllerPolicy, k: int | None, most_pairs: int) -> Verification:
    if policy.successors.shape[1] != model.n_observations or policy.actions.max() >= model.n_actions:
        raise PolicyError("the controller was made for a model with other actions or observations")
    chain = Chain(model, policy)
    totals, error = chain.totals()
    starts = np.unique(policy.drawn(policy.start).node).tolist()
    told = keeps_for(chain, policy, k, most_pairs) if k is not None else (None, ())
    spent, sure, walks = [], [], 0
    for start in starts:
        supports = Pairs(chain, None, start)
        supports.walk_all(most_pairs if np.isfinite(model.budget).any() else 0)
        walked = Pairs(chain, supports, start)
        if k is None and told[0] is None:
            told = walked.keeps(most_pairs)
        if told[0] is None:
            told = walked.keeps_steps(most_pairs)
        low, high = walked.sharpened(min(most_pairs, len(walked.node) + _EXACT))
        spent.append(low)
        sure.append(high)
        walks += walked.expanded
    worst = np.max(spent, axis=0), np.max(sure, axis=0)
    return Verification(told[0] is None, *told, float(totals[0]), totals[1:], error, *worst, walks)


def _plan_set(model: CPOMDP, policy: PlanSetPolicy, k: int | None) -> Verification:
    if k is not None:
        raise PolicyError("a plan set is checked for every history, not for those that are shorter than k")
    if model.arrays is not policy.model.arrays and model.fingerprint != policy.model.fingerprint:
        raise PolicyError("the plan set was made for another model, or for other parameters of it")
    unknown, nothing = np.full(model.n_costs, np.nan), np.zeros(model.n_costs)
    try:
        found = prove(model, policy)
    except Fault as fault:
        most = np.full(model.n_costs, np.inf)
        return Verification(False, str(fault), (), math.nan, unknown, math.nan, nothing, most, 0, _AT_LEAST)
    return Verification(
        True, None, (), found.reward, unknown, found.lowered, nothing, found.sure_cost, found.beliefs, _AT_LEAST
    )


def _controller(model: CPOMDP, policy: ControllerPolicy, k: int | None, most_pairs: int) -> Verification:
    if policy.successors.shape[1] != model.n_observations or policy.actions.max() >= model.n_actions:
        raise PolicyError("the controller was made for a model with other actions or observations")
    chain = Chain(model, policy)
    totals, error = chain.totals()
    supports = Pairs(chain, None)
    supports.walk_all(most_pairs if np.isfinite(model.budget).any() else 0)
    walked = Pairs(chain, supports)
    problem, history = walked.keeps_for(k, most_pairs) if k is not None else walked.keeps(most_pairs)
    if problem is None:
        problem, history = walked.keeps_steps(most_pairs)
    spent, sure_cost = walked.sharpened(min(most_pairs, len(walked.node) + _EXACT))
    return Verification(
        problem is None, problem, history, float(totals[0]), totals[1:], error, spent, sure_cost, walked.expanded
    )


class _Claims(NamedTuple):
    """Claims about a policy; None is none."""

    lower: float | None
    upper: float | None
    reward: float | None
    cost: list[float | None]
    sure_cost: list[float | None]

    @classmethod
    def of(cls, given: Mapping[str, Any], model: CPOMDP) -> _Claims:
        def number(value: Any, name: str) -> float | None:
            if value is None:
                return None
            try:
                claimed = float(value) if isinstance(value, int | float | np.number) else math.nan
            except OverflowError:
                claimed = math.nan
            if isinstance(value, bool) or math.isnan(claimed) or (math.isinf(claimed) and "bound" not in name):
                raise PolicyError(f"the claimed {name} is {value!r}, which is no number")
            return claimed

        def numbers(name: str) -> list[float | None]:
            values = given.get(name)
            if values is None:
                return [None] * model.n_costs
            if not isinstance(values, list | tuple | np.ndarray) or len(values) != model.n_costs:
                raise PolicyError(f"the claimed {name} is {values!r}, not a list of one number per cost")
            return [number(value, name) for value in values]

        number(given.get("horizon"), "horizon")
        lower, upper = number(given.get("lower"), "lower bound"), number(given.get("upper"), "upper bound")
        if given.get("objective") not in (None, "reward"):
            lower = upper = None  # of something else
        reward, cost = number(given.get("reward"), "reward"), numbers("cost")
        if given.get("standard_error") is not None:
            reward, cost = None, [None] * model.n_costs  # means of simulated runs claim nothing
        return cls(lower, upper, reward, cost, numbers("sure_cost"))

    def broken_by(self, found: Verification) -> str | None:
        """The first claim that what was found contradicts."""
        return next(self._contradictions(found), None)

    def _contradictions(self, found: Verification) -> Iterator[str]:
        def far(claimed: float | None, exact: float, unit: float = 1.0) -> bool:
            return claimed is not None and abs(claimed - exact) > found.error + _DIGITS * max(unit, abs(exact))

        def above(low: float | None, high: float | None, error: float = 0.0, unit: float = 1.0) -> bool:
            if low is None or high is None:
                return False
            return low > high + error + _DIGITS * max(unit, min(abs(low), abs(high)))

        if found.note == _AT_LEAST:
            yield from self._unproven(found, above)
            return
        if above(self.lower, self.upper):
            yield f"the claimed lower bound {self.lower:.9g} is above the upper bound {self.upper:.9g}"
        if above(self.lower, found.reward, found.error):
            yield f"the claimed lower bound {self.lower:.9g} is above the policy's reward {found.reward:.9g}"
        if found.problem is None and above(found.reward, self.upper, found.error):
            yield f"the policy's reward {found.reward:.9g} is above the claimed upper bound {self.upper:.9g}"
        if far(self.reward, found.reward):
            yield f"the policy's reward is {found.reward:.9g}, not {self.reward:.9g} as claimed"
        for claimed, sure, cost, spent in zip(self.cost, self.sure_cost, found.cost, found.spent, strict=True):
            if far(claimed, float(cost), unit=0.0):
                yield f"the policy's cost is {cost:.9g}, not {claimed:.9g} as claimed"
            if above(float(spent), sure, unit=0.0):
                yield f"some history spends {spent:.9g}, more than {sure:.9g} as claimed"

    def _unproven(self, found: Verification, above: Callable[..., bool]) -> Iterator[str]:
        """The claims that go beyond bounds which are all that is known."""
        if above(self.lower, self.upper):
            yield f"the claimed lower bound {self.lower:.9g} is above the upper bound {self.upper:.9g}"
        if above(self.lower, found.reward):
            yield f"the claimed lower bound {self.lower:.9g} is above the reward that is proven, {found.reward:.9g}"
        if above(self.reward, found.reward):
            yield f"the claimed reward {self.reward:.9g} is above the one that is proven, {found.reward:.9g}"
        if above(found.reward, self.upper):
            yield f"the policy's reward is at least {found.reward:.9g}, above the claimed upper bound {self.upper:.9g}"
        for sure, most in zip(self.sure_cost, found.sure_cost, strict=True):
            if above(float(most), sure, unit=0.0):
                yield f"no history is claimed to spend more than {sure:.9g}, and {most:.9g} is proven"
