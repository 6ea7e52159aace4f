"""Claims about a policy, and the verdict on each.

| claim | confirmed if | refuted if |
|---|---|---|
| reward, cost | it is what was computed, or of a plan set no more than what is proven | it is not |
| sure_cost | no history spends more, which is proven | some history does |
| lower | the policy keeps the budget and earns as much | it earns less, or `upper` is below |
| promise | the policy keeps the budget and earns as much; `lower` is then of another policy | it earns less |
| upper, gap | a proof says so: they speak of all policies | the policy, which keeps the budget, earns more |
| status | likewise | "optimal" with a gap above epsilon, "infeasible" of a policy that keeps the budget |
| admissible, k | the budget was found to hold in every history, at those shorter than k | it was found not to |
| horizon | likewise | a history that is no longer spends too much |
| budget | it is the model's | it is not |
| needed | never | the policy needs less |
| suffices | the policy's sure cost is within it | never |

Reward, cost and bounds agree if they do so to a millionth of what the policy earns and loses; sure costs, to a
millionth of the claim. Of all else it is told that it was not checked: who found the policy, how, and in what time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._json_values import finite
from .._types import FloatArray
from ..errors import PolicyError
from ..model import CPOMDP
from ..tolerance import same
from .proof_check import ProofCheck

CONFIRMED, REFUTED, UNCHECKED = "confirmed", "refuted", "not checked"
UNDECIDED = "undecided"  # it was checked, and took too long to tell
STATEMENTS = (  # about the policy or the optimum; all others tell how they were found
    *("budget", "lower", "upper", "gap", "status", "reward", "cost", "sure_cost"),
    *("admissible", "horizon", "k", "needed", "suffices", "promise"),
)
SIMULATED = "a mean of simulated runs"
_DIGITS = 1e-6  # relative: a claim that agrees so far is not contradicted
_ROUNDING = 1e-12  # of what is computed with the largest reward, if no policy earns it
_WEIGHTED = re.compile(r"reward - \([-+.\deE, ]+\)·cost")  # as a solver of R − λ·C names what it maximises


class Check(NamedTuple):
    """A claim, and what came of it."""

    claim: str
    claimed: Any
    verdict: str  # "confirmed", "refuted", "undecided" or "not checked"
    why: str | None = None  # a sentence, unless it is confirmed
    cost: int | None = None  # the cost that it is about, of claims about each

    def as_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what is not finite is None."""
        claimed = self.claimed.tolist() if isinstance(self.claimed, np.ndarray | np.generic) else self.claimed
        return self._asdict() | {"claimed": finite(claimed) if isinstance(claimed, float) else claimed}

    @property
    def fails(self) -> bool:
        """A policy is not verified with such a claim."""
        return self.verdict in (REFUTED, UNDECIDED)


class Findings(NamedTuple):
    """What claims are held against."""

    problem: str | None  # why the budget was not found to hold
    steps: int | None  # after which a history has spent too much
    k: int | None  # of the question that was asked; None is every history
    reward: float
    cost: FloatArray  # [K]; nan is not known
    error: FloatArray  # [1 + K] of reward and costs
    size: float  # expected sum of rewards without their signs
    spent: FloatArray  # [K] some history spends this
    sure_cost: FloatArray  # [K] no history spends more
    pairs: int  # that were walked
    at_least: bool  # the reward is a lower bound
    proof: ProofCheck | None = None  # of the upper bound


class Claims:
    """Claims about a policy for a model; those that make no sense are refused."""

    def __init__(self, given: Mapping[str, Any], model: CPOMDP) -> None:
        if not isinstance(given, Mapping):
            raise PolicyError(f"claims are a mapping, as result.summary() is, not {type(given).__name__}")
        self.model, self.given = model, given
        self.lower, self.upper = self._number("lower", bound=True), self._number("upper", bound=True)
        self.gap, self.epsilon = self._number("gap", bound=True), self._number("epsilon", bound=True)
        self.reward, self.horizon = self._number("reward"), self._number("horizon")
        self.promise = self._number("promise")
        self.cost, self.sure_cost = self._numbers("cost"), self._numbers("sure_cost")
        self.needed, self.suffices = self._numbers("needed", bound=True), self._numbers("suffices", bound=True)
        self.simulated = given.get("standard_error") is not None
        self.k, self.admissible, self.status = given.get("k"), given.get("admissible"), given.get("status")
        for name, value, fits in (
            ("k", self.k, type(self.k) is int),
            ("admissible", self.admissible, isinstance(self.admissible, bool | np.bool_)),
            ("status", self.status, isinstance(self.status, str)),
        ):
            if value is not None and not fits:
                raise PolicyError(f"the claimed {name} is {value!r}, which makes no sense")
        self.of_reward = self._is_of_reward()

    @property
    def spending(self) -> FloatArray:
        """The most that histories are claimed to spend, [K]; inf where nothing is claimed."""
        return np.array([math.inf if sure is None else sure * (1 + _DIGITS) for sure in self.sure_cost])

    def _number(self, name: str, bound: bool = False) -> float | None:
        return _number(self.given.get(name), f"{name} bound" if name in ("lower", "upper") else name, bound)

    def _numbers(self, name: str, bound: bool = False) -> list[float | None]:
        values = self.given.get(name)
        if values is None:
            return [None] * self.model.n_costs
        if not isinstance(values, list | tuple | np.ndarray) or len(values) != self.model.n_costs:
            raise PolicyError(f"the claimed {name} is {values!r}, not a list of one number per cost")
        return [_number(value, name, bound) for value in values]

    def _is_of_reward(self) -> bool:
        """True if bounds are of the reward; refuses an objective that is none."""
        word = self.given.get("objective")
        costs = [form for name in self.model.costs for form in (f"cost:{name}", f"cost {name!r}")]
        if word not in (None, "reward", "cost", *costs) and not (isinstance(word, str) and _WEIGHTED.fullmatch(word)):
            raise PolicyError(f"the claimed objective is {word!r}, which is none")
        return word in (None, "reward")

    def checks(self, found: Findings) -> tuple[Check, ...]:
        """The verdict on every claim; the first that fails says why the policy is not verified."""
        judged = [check for check in self._judged(found) if check.claimed is not None]
        names = {check.claim for check in judged}
        about = "it is about the search, or unknown here"
        others = [
            Check(name, value, UNCHECKED, about)
            for name, value in self.given.items()
            if name not in names and value not in (None, [], {}) and not (name == "admissible" and not value)
        ]
        return (*judged, *others)

    def _judged(self, found: Findings) -> Iterator[Check]:
        yield from self._budget()
        yield from self._bounds(found)
        yield from self._totals(found)
        for k in range(self.model.n_costs):
            yield self._sure_cost(found, k)
        yield from self._kept(found)
        for k in range(self.model.n_costs):
            yield from self._least(found, k)

    def _budget(self) -> Iterator[Check]:
        claimed = self.given.get("budget")
        if claimed is None:
            return
        limits = [math.inf if c is None else c for c in self._numbers("budget", bound=True)]
        holds = all(bool(same(min(c, b), max(c, b))) for c, b in zip(limits, self.model.budget.tolist(), strict=True))
        said, asked = (", ".join(map(_limit, values)) for values in (limits, self.model.budget.tolist()))
        why = None if holds else f"the claims are for the budget {said}, and {asked} is asked for"
        yield Check("budget", claimed, CONFIRMED if holds else REFUTED, why)

    def _answered(self, found: Findings) -> bool:
        """True if the budget was found to hold wherever the claims say that it does."""
        return found.problem is None and (found.k is None or (self.k is not None and self.k <= found.k))

    def _bounds(self, found: Findings) -> Iterator[Check]:
        """Verdicts on lower, upper, gap and status."""
        if not self.of_reward:
            why = f"the bounds are of {self.given['objective']}"
            for name in ("lower", "upper", "gap", "status"):
                yield Check(name, self.given.get(name), UNCHECKED, why)
            return
        room, proven = self._room(found), self._answered(found)
        crossed = _above(self.lower, self.upper, room)
        if crossed:
            why = f"the claimed lower bound {self.lower:.9g} is above the upper bound {self.upper:.9g}"
            yield Check("lower", self.lower, REFUTED, why)
        elif not proven:
            yield Check("lower", self.lower, UNCHECKED, "the policy is not known to keep the budget")
        elif self.promise is None:
            yield self._earned("lower", "lower bound", self.lower, found)
        else:
            yield Check("lower", self.lower, UNCHECKED, "another policy attains it, as the solver says")
            yield self._earned("promise", "promise", self.promise, found)
        upper = self._upper(found, proven, crossed)
        yield upper
        holds = upper.verdict == CONFIRMED
        yield self._gap(room, holds and proven)
        yield self._status(found, proven, room, holds)

    def _earned(self, claim: str, words: str, claimed: float | None, found: Findings) -> Check:
        """That the policy, which keeps the budget, earns as much as is claimed."""
        if not _above(claimed, found.reward, self._room(found)):
            return Check(claim, claimed, CONFIRMED)
        earned = "the reward that is proven," if found.at_least else "the policy's reward"
        why = f"the claimed {words} {claimed:.9g} is above {earned} {found.reward:.9g}"
        return Check(claim, claimed, UNDECIDED if found.at_least else REFUTED, why)

    def _upper(self, found: Findings, proven: bool, crossed: bool) -> Check:
        """That no policy earns more: refuted by one that does, confirmed by a proof."""
        if proven and _above(found.reward, self.upper, self._room(found)):
            earned = f"is at least {found.reward:.9g}," if found.at_least else f"{found.reward:.9g} is"
            why = f"the policy's reward {earned} above the claimed upper bound {self.upper:.9g}"
            return Check("upper", self.upper, REFUTED, why)
        if crossed:
            return Check("upper", self.upper, REFUTED, "the claimed bounds cross")
        if found.proof is None or self.upper is None:
            return Check("upper", self.upper, UNCHECKED, "that no policy earns more is the solver's word")
        if (other := found.proof.speaks_of(self._asked(found))) is not None:
            return Check("upper", self.upper, UNCHECKED, other)
        wrong = found.proof.refutes(self.upper)
        return Check("upper", self.upper, CONFIRMED if wrong is None else UNDECIDED, wrong)

    def _asked(self, found: Findings) -> int | None:
        """Which histories the claims, or the question, are about: those shorter than k; None: all."""
        return found.k if self.k is None else self.k

    @property
    def _between(self) -> float | None:
        """Upper minus lower bound, if both are claimed."""
        return None if self.lower is None or self.upper is None else self.upper - self.lower

    def _gap(self, room: float, holds: bool) -> Check:
        apart = self._between
        if apart is None or self.gap is None or math.isclose(apart, self.gap, rel_tol=_DIGITS, abs_tol=2 * room):
            if holds and apart is not None:
                return Check("gap", self.gap, CONFIRMED)
            return Check("gap", self.gap, UNCHECKED, "it follows from the upper bound, which is the solver's word")
        return Check("gap", self.gap, REFUTED, f"the claimed bounds are {apart:.9g} apart, not {self.gap:.9g}")

    def _status(self, found: Findings, proven: bool, room: float, holds: bool) -> Check:
        apart = self._between
        if self.status == "infeasible" and proven:
            return Check("status", self.status, REFUTED, "infeasible is claimed, but the policy keeps the budget")
        if self.status == "optimal" and apart is not None and self.epsilon is not None and apart > self.epsilon + room:
            why = f"optimal is claimed, but the bounds are {apart:.9g} apart, more than {self.epsilon:.9g}"
            return Check("status", self.status, REFUTED, why)
        if self.status == "optimal" and holds and proven and apart is not None and self.epsilon is not None:
            return Check("status", self.status, CONFIRMED)
        if self.status == "infeasible" and found.proof is not None and found.proof.rules_out(self._asked(found)):
            return Check("status", self.status, CONFIRMED)
        return Check("status", self.status, UNCHECKED, "it rests on what no policy can do, which is the solver's word")

    def _totals(self, found: Findings) -> Iterator[Check]:
        """Verdicts on reward and cost."""
        if self.simulated:
            yield Check("reward", self.reward, UNCHECKED, SIMULATED)
        elif found.at_least and _above(self.reward, found.reward, self._room(found)):
            why = f"the claimed reward {self.reward:.9g} is above the one that is proven, {found.reward:.9g}"
            yield Check("reward", self.reward, UNDECIDED, why)
        elif self.reward is not None and abs(self.reward - found.reward) > self._room(found) and not found.at_least:
            why = f"the policy's reward is {found.reward:.9g}, not {self.reward:.9g} as claimed"
            yield Check("reward", self.reward, REFUTED, why)
        else:
            unknown = math.isnan(found.reward)
            yield Check("reward", self.reward, UNCHECKED if unknown else CONFIRMED, found.problem if unknown else None)
        for k, claimed in enumerate(self.cost):
            exact = float(found.cost[k])
            if self.simulated or math.isnan(exact):
                why = SIMULATED if self.simulated else "expected costs of a plan set are not computed"
                yield Check("cost", claimed, UNCHECKED, why, k)
            elif claimed is not None and abs(claimed - exact) > found.error[1 + k] + _DIGITS * abs(exact):
                why = f"the policy's cost is {exact:.9g}, not {claimed:.9g} as claimed"
                yield Check("cost", claimed, REFUTED, why, k)
            else:
                yield Check("cost", claimed, CONFIRMED, None, k)

    def _sure_cost(self, found: Findings, k: int) -> Check:
        claimed, spent, sure = self.sure_cost[k], float(found.spent[k]), float(found.sure_cost[k])
        if claimed is None or sure <= self.spending[k]:
            return Check("sure_cost", claimed, CONFIRMED, None, k)
        if spent > self.spending[k]:
            why = f"some history spends {spent:.9g}, more than {claimed:.9g} as claimed"
            return Check("sure_cost", claimed, REFUTED, why, k)
        if found.at_least:
            why = f"no history is claimed to spend more than {claimed:.9g}, and {sure:.9g} is proven"
        else:
            why = (
                f"{found.pairs:,} pairs of node and belief do not decide whether no history spends more than "
                f"{claimed:.9g} as claimed: some history spends {spent:.9g}, none more than {sure:.9g}"
            )
        return Check("sure_cost", claimed, UNDECIDED, why, k)

    def _kept(self, found: Findings) -> Iterator[Check]:
        """Verdicts on admissible, horizon and k."""
        if self.admissible:
            broken = found.steps is not None and found.k is None
            verdict = CONFIRMED if found.problem is None and found.k is None else REFUTED if broken else UNCHECKED
            shorter = f"only histories shorter than {found.k} were asked for"
            why = None if verdict == CONFIRMED else found.problem if found.k is None else shorter
            yield Check("admissible", True, verdict, why)
        if self.horizon is not None:
            if found.problem is None and found.k is None:
                yield Check("horizon", self.horizon, CONFIRMED)
            elif found.steps is not None and found.k is None and found.steps <= self.horizon:
                yield Check("horizon", self.horizon, REFUTED, found.problem)
            else:
                yield Check("horizon", self.horizon, UNCHECKED, "the policy is not known to keep the budget")
        if self.k is not None:
            verdict = CONFIRMED if self._answered(found) else UNCHECKED
            why = None if verdict == CONFIRMED else "the policy is not known to keep the budget at such histories"
            yield Check("k", self.k, verdict, why)

    def _least(self, found: Findings, k: int) -> Iterator[Check]:
        """Verdicts on needed and suffices."""
        needed, suffices, sure = self.needed[k], self.suffices[k], float(found.sure_cost[k])
        others = np.delete(found.sure_cost <= self.model.spending_limit, k).all()
        if needed is not None and others and sure < needed * (1 - _DIGITS):
            why = f"the policy spends no more than {sure:.9g}, and {needed:.9g} is claimed to be needed"
            yield Check("needed", needed, REFUTED, why, k)
        else:
            yield Check("needed", needed, UNCHECKED, "that no policy does with less is the solver's word", k)
        if suffices is not None and sure <= suffices * (1 + _DIGITS):
            yield Check("suffices", suffices, CONFIRMED, None, k)
        else:
            yield Check("suffices", suffices, UNCHECKED, "it may be of another policy", k)

    def _room(self, found: Findings) -> float:
        """How far rewards and bounds may differ and agree."""
        largest = float(np.abs(self.model.reward).max()) / self.model.fade
        return float(np.nan_to_num(found.error[0])) + _DIGITS * found.size + _ROUNDING * largest


def _number(value: Any, name: str, infinite: bool) -> float | None:
    if value is None:
        return None
    try:
        claimed = float(value) if isinstance(value, int | float | np.number) else math.nan
    except OverflowError:
        claimed = math.nan
    if isinstance(value, bool) or math.isnan(claimed) or (math.isinf(claimed) and not infinite):
        raise PolicyError(f"the claimed {name} is {value!r}, which is no number")
    return claimed


def _above(low: float | None, high: float | None, room: float) -> bool:
    """True if one number is certainly above another; infinite ones compare as they are."""
    if low is None or high is None or math.isnan(high):
        return False
    return low > high + room


def _limit(budget: float) -> str:
    return "unlimited" if budget == math.inf else f"{budget:.9g}"
