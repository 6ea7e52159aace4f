"""Verification of a policy: the question, the claims, and what is found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from .._types import FloatArray
from ..errors import InputError, PolicyError
from ..model import CPOMDP
from ..policies import ControllerPolicy, MixturePolicy, PlanSetPolicy, Policy, StochasticControllerPolicy
from ..policies.base import TO_TABULATE, check_policy
from ..views.notebook import verification as _html
from .chain import Chain
from .claims import STATEMENTS, UNCHECKED, Check, Claims, Findings
from .k_admissible import as_one, keeps_for
from .pairs import Pairs
from .plan_set import Fault, Proven, prove
from .proof import Proof
from .proof_check import ProofCheck, check_proof

MOST_PAIRS = 200_000
_AT_LEAST = "the reward is what is proven at least; expected costs are not checked"
_WITHOUT_GUIDES = "the reward is what its plans earn at least without the guides; expected costs are not checked"
_EXACT = 2_000  # pairs that are walked to tell the worst spending exactly, once the budget is known to hold


class Verification(NamedTuple):
    """The exact reward and costs of a policy, its sure cost, and whether budget and claims hold."""

    verified: bool
    problem: str | None  # the first thing that is wrong, or why nothing could be said
    history: tuple[tuple[str, str], ...]  # (action, observation) of each step until the promise is broken
    reward: float  # expected discounted reward
    cost: FloatArray  # [K] expected discounted costs
    error: float  # the reward is off by no more than this; of a plan set, what rounding took off it
    cost_error: FloatArray  # [K] the same of costs
    spent: FloatArray  # [K] some history spends this much
    sure_cost: FloatArray  # [K] no history spends more
    beliefs: int  # pairs of node and belief that were walked
    size: float  # expected discounted sum of rewards without their signs, to which claims are held
    note: str | None = None  # what to keep in mind: of a plan set `reward` is a lower bound, and `cost` is not known
    checks: tuple[Check, ...] = ()  # every claim, and whether it was confirmed
    proof: ProofCheck | None = None  # what a proof of the upper bound proves, if there is one

    @property
    def unchecked(self) -> list[str]:
        """Claims about the policy or the optimum that were not checked: those stand as they were made."""
        names = [check.claim for check in self.checks if check.verdict == UNCHECKED and check.claim in STATEMENTS]
        return list(dict.fromkeys(names))

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
            "checks": [check.as_json() for check in self.checks],
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
    claims : statements about the policy and the optimum, as `Result.claims` makes them; each has its verdict in
        ``checks`` (docs/howto/read-a-certificate.md), and a policy with one that is refuted or undecided is not
        verified
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
    check_policy(policy)
    told = Claims(claims or {}, model)
    model.fade  # noqa: B018 - it refuses a discount of 1 where the process may go on for ever
    one = as_one(model, policy) if isinstance(policy, MixturePolicy) and k is not None else policy
    asked = _Question(k, most_pairs, told.spending)
    if isinstance(one, StochasticControllerPolicy):
        found = _stochastic(model, one, asked)
    elif isinstance(policy, MixturePolicy):
        found = _mixture(model, policy, asked)
    elif isinstance(policy, ControllerPolicy):
        found = _controller(model, policy, asked)
    elif isinstance(policy, PlanSetPolicy):
        found = _plan_set(model, policy, k)
    else:
        kind = type(policy).__name__
        raise PolicyError(
            f"only controllers, mixtures of them and plan sets can be verified, not {kind}; simulate it, or "
            f"{TO_TABULATE}"
        )
    checked = None if proof is None else check_proof(model, proof)
    checks = told.checks(_findings(found, k, checked))
    problem = found.problem or next((check.why for check in checks if check.fails), None)
    if problem is None and checked is not None and not checked.confirmed:
        problem = f"the proof fails: {checked.problem}"
    return found._replace(verified=problem is None, problem=problem, checks=checks, proof=checked)


class _Question(NamedTuple):
    """What is asked of a policy."""

    k: int | None  # the budget at histories shorter than this; None: at all
    most_pairs: int
    spending: FloatArray  # [K] and that no history spends more than this

    def supports(self, model: CPOMDP) -> int:
        """Pairs of node and support to walk, which are of use only where spending is limited."""
        limited = np.isfinite(model.budget).any() or np.isfinite(self.spending).any()
        return self.most_pairs if limited else 0

    def most_spent(self, walked: Pairs) -> tuple[FloatArray, FloatArray]:
        """Spending of some history and sure cost, [K] each, as far apart as the claims allow."""
        low, high = walked.sharpened(min(self.most_pairs, len(walked.node) + _EXACT))
        if ((low > self.spending) | (high <= self.spending)).all():
            return low, high
        return walked.decide(self.spending, self.most_pairs)[:2]


def _findings(found: Verification, k: int | None, proof: ProofCheck | None) -> Findings:
    """What claims are held against."""
    return Findings(
        problem=found.problem,
        steps=len(found.history) or None,
        k=k,
        reward=found.reward,
        cost=found.cost,
        error=np.append(found.error, found.cost_error),
        size=found.size,
        spent=found.spent,
        sure_cost=found.sure_cost,
        pairs=found.beliefs,
        at_least=found.note is not None,
        proof=proof,
    )


def _mixture(model: CPOMDP, policy: MixturePolicy, asked: _Question) -> Verification:
    drawn = [(float(w), p) for w, p in zip(policy.weights, policy.policies, strict=True) if w > 0]
    parts: list[Verification] = []
    problem: str | None = None
    history: tuple[tuple[str, str], ...] = ()
    for _, part in drawn:
        if isinstance(part, MixturePolicy):
            parts.append(_mixture(model, part, asked))
        elif isinstance(part, ControllerPolicy):
            parts.append(_controller(model, part, asked))
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
        cost_error=np.max([part.cost_error for part in parts], axis=0),
        spent=np.max([part.spent for part in parts], axis=0),
        sure_cost=np.max([part.sure_cost for part in parts], axis=0),
        beliefs=sum(part.beliefs for part in parts),
        size=float(sum(w * part.size for w, part in zip(weights, parts, strict=True))),
    )


def _stochastic(model: CPOMDP, policy: StochasticControllerPolicy, asked: _Question) -> Verification:
    chain = _chain(model, policy)
    k, most_pairs = asked.k, asked.most_pairs
    told = keeps_for(chain, policy, k, most_pairs) if k is not None else (None, ())
    spent, sure, walks = [], [], 0
    for start in np.unique(policy.drawn(policy.start).node).tolist():
        supports = Pairs(chain, None, start)
        supports.walk_all(asked.supports(model))
        walked = Pairs(chain, supports, start)
        if k is None and told[0] is None:
            told = walked.keeps(most_pairs)
        if told[0] is None:
            told = walked.keeps_steps(most_pairs)
        low, high = asked.most_spent(walked)
        spent.append(low)
        sure.append(high)
        walks += walked.expanded
    return _found(chain, told, np.max(spent, axis=0), np.max(sure, axis=0), walks)


def _controller(model: CPOMDP, policy: ControllerPolicy, asked: _Question) -> Verification:
    chain = _chain(model, policy)
    supports = Pairs(chain, None)
    supports.walk_all(asked.supports(model))
    walked = Pairs(chain, supports)
    told = walked.keeps(asked.most_pairs) if asked.k is None else walked.keeps_for(asked.k, asked.most_pairs)
    if told[0] is None:
        told = walked.keeps_steps(asked.most_pairs)
    return _found(chain, told, *asked.most_spent(walked), walked.expanded)


def _chain(model: CPOMDP, policy: ControllerPolicy | StochasticControllerPolicy) -> Chain:
    if policy.successors.shape[1] != model.n_observations or policy.actions.max() >= model.n_actions:
        raise PolicyError("the controller was made for a model with other actions or observations")
    return Chain(model, policy)


def _found(
    chain: Chain,
    told: tuple[str | None, tuple[tuple[str, str], ...]],
    spent: FloatArray,
    sure_cost: FloatArray,
    beliefs: int,
) -> Verification:
    totals = chain.totals()
    return Verification(
        verified=told[0] is None,
        problem=told[0],
        history=told[1],
        reward=float(totals.value[0]),
        cost=totals.value[1:],
        error=float(totals.error[0]),
        cost_error=totals.error[1:],
        spent=spent,
        sure_cost=sure_cost,
        beliefs=beliefs,
        size=float(totals.size[0]),
    )


def _plan_set(model: CPOMDP, policy: PlanSetPolicy, k: int | None) -> Verification:
    if k is not None:
        raise PolicyError("a plan set is checked for every history, not for those that are shorter than k")
    if model.arrays is not policy.model.arrays and model.fingerprint != policy.model.fingerprint:
        raise PolicyError("the plan set was made for another model, or for other parameters of it")
    unknown, nothing = np.full(model.n_costs, np.nan), np.zeros(model.n_costs)
    problem = None
    try:
        proof = prove(model, policy)
    except Fault as fault:
        problem, proof = str(fault), Proven(math.nan, math.nan, np.full(model.n_costs, np.inf), 0)
    return Verification(
        verified=problem is None,
        problem=problem,
        history=(),
        reward=proof.reward,
        cost=unknown,
        error=proof.lowered,
        cost_error=unknown,
        spent=nothing,
        sure_cost=proof.sure_cost,
        beliefs=proof.beliefs,
        size=0.0 if problem else abs(proof.reward),
        note=_WITHOUT_GUIDES if policy.is_guide.any() else _AT_LEAST,
    )
