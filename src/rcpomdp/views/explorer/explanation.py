"""The reasons of a policy after a history: the facts of one place, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._json_values import finite
from ..._types import FloatArray
from ...bounds.least_budget import BaseBounds, LeastBudget
from ...errors import InputError, PolicyError
from ...model import CPOMDP, beliefs
from ...model.beliefs import Belief
from ...model.remaining_budget import left_after
from ...policies import ControllerPolicy, Policy
from ...policies.base import check_policy, checked_action
from ...tolerance import RELATIVE, slack
from ...verification.proof import Proof
from .. import notebook
from ..parts import in_words, marginals
from .alternatives import BREAKS, LESS, OPEN, TAKEN, WORSE, Alternative, Bounds, Verdict, judge
from .risk import Risk, risks, verified_reward
from .walk import ENDED, Start, starts, walk

_MOST_NODES = 2_000  # to explore
_SHOWN = 8  # states of a belief in words


@dataclass(frozen=True, eq=False)
class Explanation:
    """A policy after a history: what it believes, does, has left and expects, and what else it could have done."""

    model: CPOMDP
    history: tuple[tuple[int, int], ...]  # (action, observation) of each step
    draw: int  # which policy of a mixture was drawn, from 1
    draws: int  # how many policies may be drawn
    probability: float  # of the history, and of that draw
    belief: Belief
    action: int | None  # None once the process has surely ended
    left: FloatArray  # [K] d
    slack: FloatArray  # [K] tolerance on d: the budget's, divided by γ at each step as d is
    reward: tuple[float, float]  # to come, from below and from above; equal if exact
    cost: FloatArray  # [K, 2] likewise
    broken: tuple[int, int] | None  # first step at which more is expected than is left, and for which cost
    alternatives: list[tuple[Alternative, Verdict]]  # of every action
    observations: list[tuple[int, float]]  # that may follow, and their probabilities
    keeps: bool | None  # what is left, after all that may follow; None if that was not explored to the end
    keeping: tuple[int, ...]  # actions that are proven to begin a plan that surely keeps what is left
    deliberate: bool  # proven: the action begins no such plan, and another one does
    judged_by: str  # where the bounds on actions come from
    seed: int | None  # of the one draw of a randomised policy that all of this is about; None if nothing is random

    def summary(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        m = self.model
        return {
            "history": [[str(m.actions[a]), str(m.observations[o])] for a, o in self.history],
            "draw": self.draw,
            "draws": self.draws,
            "probability": self.probability,
            "randomised": self.seed is not None,
            "about": "the policy" if self.seed is None else f"one draw (seed {self.seed}) of a randomised policy",
            "belief": [{"state": str(m.states[s]), "probability": p} for s, p in self._likely()],
            "marginals": self._marginals(),
            "action": None if self.action is None else str(m.actions[self.action]),
            "costs": [str(name) for name in m.costs],
            "budget": [finite(limit) for limit in m.budget],
            "left": [finite(d) for d in self.left],
            "reward_to_come": list(self.reward),
            "cost_to_come": self.cost.tolist(),
            "keeps_what_is_left": self.keeps,
            "self_destruction": None
            if self.broken is None
            else {"step": self.broken[0], "cost": str(m.costs[self.broken[1]])},
            "deliberate": self.deliberate,
            "keeping": [str(m.actions[a]) for a in self.keeping],
            "judged_by": self.judged_by,
            "alternatives": [
                {
                    "action": str(m.actions[alternative.action]),
                    "reward_at_least": alternative.reward_lo,
                    "reward_at_most": verdict.reward_hi,
                    "cost_at_least": alternative.cost_lo.tolist(),
                    "verdict": self._word(verdict),
                    "reason": self._reason(alternative, verdict),
                }
                for alternative, verdict in self.alternatives
            ],
            "observations": [{"observation": str(m.observations[o]), "probability": p} for o, p in self.observations],
        }

    def __str__(self) -> str:
        m = self.model
        steps = ", ".join(f"{m.actions[a]}:{m.observations[o]}" for a, o in self.history)
        states = [f"{m.states[s]} {p:.4g}" for s, p in self._likely()]
        more = f", and {len(states) - _SHOWN} more states" if len(states) > _SHOWN else ""
        lines = [
            f"{'after ' + steps if steps else 'at the start'} (probability {self.probability:.4g})",
            f"belief   {', '.join(states[:_SHOWN])}{more}",
            f"action   {'none: the process has ended' if self.action is None else m.actions[self.action]}",
            f"to come  reward {_between(*self.reward)}{self._costs()}",
        ]
        if len(states) > 1 and (parts := self._marginals()):
            lines.insert(2, f"parts    {in_words(parts)}")
        if self.draws > 1:
            lines.insert(1, f"mixture  of {self.draws} policies; all of this is about number {self.draw}")
        if self.seed is not None:
            lines.insert(
                1,
                f"ONE DRAW (seed {self.seed}) of a randomised policy: actions, probabilities, values and verdicts are "
                "of this draw, not of the policy",
            )
        if self.broken is not None:
            step, k = self.broken
            whose = "" if self.seed is None else " of this draw"
            lines.append(f"SELF-DESTRUCTION{whose} at step {step}: more {m.costs[k]} is expected than is left")
        if self.deliberate:
            others = " or ".join(str(m.actions[a]) for a in self.keeping)
            lines.append(f"DELIBERATE: {others} could keep what is left, {m.actions[self.action or 0]} cannot")
        if self.action is not None:
            lines += [f"instead  {line}" for line in self._instead()] or ["instead  there is no other action"]
            seen = ", ".join(f"{m.observations[o]} {p:.4g}" for o, p in self.observations)
            lines.append(f"next     {seen}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook.explanation(str(self), [(str(self.model.states[s]), p) for s, p in self._likely()])

    def _costs(self) -> str:
        words = ""
        for k, name in enumerate(self.model.costs):
            left = "no limit" if np.isinf(self.left[k]) else f"{self.left[k]:.6g} left"
            words += f"; {name} {_between(*self.cost[k].tolist(), unit=0.0)}, with {left}"
        return words

    def _marginals(self) -> list[dict[str, float]]:
        """Of the parts that states have; none if they have none."""
        return marginals((self.model.states[s], p) for s, p in self._likely())

    def _likely(self) -> list[tuple[int, float]]:
        """The states of the belief, the likeliest first."""
        order = np.argsort(-self.belief.probabilities, kind="stable")
        return list(zip(self.belief.states[order].tolist(), self.belief.probabilities[order].tolist(), strict=True))

    def _instead(self) -> list[str]:
        return [
            f"{self.model.actions[alternative.action]}: {self._word(verdict)}; {self._reason(alternative, verdict)}"
            for alternative, verdict in self.alternatives
            if verdict.word != TAKEN
        ]

    def _word(self, verdict: Verdict) -> str:
        """A verdict; what compares with one draw of a policy says so."""
        compares = self.seed is not None and verdict.word in (WORSE, OPEN, LESS)
        return f"{verdict.word} than this draw" if compares else verdict.word

    def _reason(self, alternative: Alternative, verdict: Verdict) -> str:
        """One clause that names the numbers behind a verdict."""
        exact = "" if self.reward[0] == self.reward[1] else "at least "
        who = "the policy" if self.seed is None else "this draw"
        now = bool((self.cost[:, 0] > self.left + self.slack).any())
        how = " by breaking the budget" if now else " by breaking the budget later" if self.keeps is False else ""
        attained = f"{who} earns {exact}{self.reward[0]:.6g}{how}"
        if verdict.word == LESS:
            unknown = ", not explored far enough to tell whether it keeps the budget" if self.keeps is None else ""
            return f"at most {verdict.reward_hi:.6g}; {attained}{unknown}"
        if verdict.word in (WORSE, OPEN):
            where = "within the budget it" if self.model.n_costs else "it"
            return f"{where} earns at most {verdict.reward_hi:.6g}, {attained}"
        if verdict.word == BREAKS:
            for k, name in enumerate(self.model.costs):
                left = f"and {self.left[k]:.6g} is left"
                if self.left[k] + self.slack[k] < 0:
                    return f"more {name} is spent already than there was"
                if alternative.cost_lo[k] > self.left[k] + self.slack[k]:
                    return f"it must expect {name} of {alternative.cost_lo[k]:.6g} at least, {left}"
                if alternative.stairs[k][0].need > self.left[k] + self.slack[k]:
                    return f"to keep the budget it takes {name} of {alternative.stairs[k][0].need:.6g} at least, {left}"
        return attained


def explain(
    policy: Policy[Any],
    model: CPOMDP,
    history: Iterable[Any] = (),
    *,
    draw: int | None = None,
    seed: int = 0,
    proof: Proof | None = None,
    bounds: Bounds | None = None,
) -> Explanation:
    """Explain why a policy does what it does after a history.

    Parameters
    ----------
    history : an observation, or a pair (action, observation), for each step, by index or label
    draw : which policy of a mixture was drawn, from 1; by default the likeliest one that takes the actions given
    seed : of a policy that draws at random
    proof : of the solver, as ``rc.solve(..., proof=True).proof`` has it: actions are judged by what the solver proved,
        else by the bounds that it starts from
    bounds : of the model and a proof, if they are at hand

    Examples
    --------
    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> told = rc.explain(rc.policies.blind(model, "tunnel-A"), model, ["looks-rocky"])
    >>> print(told)
    after tunnel-A:looks-rocky (probability 0.5)
    belief   entrance-rocky 0.8, entrance-clear 0.2
    action   tunnel-A
    to come  reward 12; cost 8, with 5 left
    SELF-DESTRUCTION at step 1: more cost is expected than is left
    DELIBERATE: tunnel-B could keep what is left, tunnel-A cannot
    instead  tunnel-B: earns less within the budget; at most 0; the policy earns 12 by breaking the budget
    next     looks-clear 1
    """
    check_policy(policy)
    begin = starts(model, policy, seed)
    if draw is not None and not 1 <= draw <= len(begin):
        raise InputError(f"draw {draw} is not between 1 and {len(begin)}, the number of policies to draw from")
    likeliest = sorted(range(len(begin)), key=lambda i: -begin[i].weight)
    steps = list(history)
    refused: InputError | None = None
    for i in likeliest if draw is None else [draw - 1]:
        try:
            way = _follow(model, begin[i], steps)
        except InputError as error:  # another draw may take these actions and see this
            refused = refused or error
        else:
            which = i + 1, len(begin)
            return _explained(model, way, which, bounds or Bounds(model, proof), seed if begin[i].one_draw else None)
    raise refused or AssertionError("a policy has a beginning")


@dataclass(frozen=True)
class _Way:
    """A history, and where a policy is before each of its steps and after the last."""

    places: list[Start]  # their weight is the probability to get there
    history: list[tuple[int, int]]


def _follow(model: CPOMDP, start: Start, steps: Sequence[Any]) -> _Way:
    way = _Way([start], [])
    for i, step in enumerate(steps, 1):
        policy, state, belief, probability, _ = way.places[-1]
        pair = isinstance(step, tuple | list) and len(step) == 2 and step not in model.observations
        given, seen = step if pair else (None, step)
        if model.terminal[belief.states].all():
            raise InputError(f"step {i} of the history comes after the end of the process")
        action = checked_action(policy.action(state), model, f"at step {i}")
        o = model.observations.resolve(seen)
        if given is not None and model.actions.resolve(given) != action:
            raise PolicyError(f"at step {i} of the history the policy takes {model.actions[action]!r}, not {given!r}")
        after = beliefs.posterior(model, belief, action, o)
        p = float(beliefs.observation_probabilities(model, belief, action)[o])
        way.places.append(Start(policy, policy.update(state, o), after, probability * p))
        way.history.append((action, o))
    return way


def _explained(model: CPOMDP, way: _Way, which: tuple[int, int], bounds: Bounds, seed: int | None) -> Explanation:
    begin = way.places
    if isinstance(begin[0].policy, ControllerPolicy):  # its values are exact: only what follows from here is explored
        begin = [*(place._replace(weight=0.0) for place in begin[:-1]), begin[-1]]
    graph = walk(model, begin, _MOST_NODES)
    left, room, broken = model.budget.copy(), slack(model.budget), None
    for step, node in enumerate(graph.roots):
        over = graph.values[node, 1:, 0] > left + room
        if broken is None and over.any():
            broken = step, int(over.argmax())
        if step < len(way.history):
            spent = beliefs.expected_cost(model, way.places[step].belief, way.history[step][0])
            left, room = left_after(left, spent, model.cost_discount), left_after(room, 0.0, model.cost_discount)
    node = graph.roots[-1]
    keeps, cost = _keeps(risks(graph), node, left + room), graph.values[node, 1:]
    attained = float(graph.values[node, 0, 0])
    if keeps is None and (least := verified_reward(model, begin[0].policy)) is not None:
        attained = attained if way.history else max(attained, min(least, float(graph.values[node, 0, 1])))
        keeps, cost = True, np.stack([cost[:, 0], np.minimum(cost[:, 1], left + room)], axis=1)
    place, action, edges = way.places[-1], graph.action[node], graph.edges[node]
    judged: list[tuple[Alternative, Verdict]] = []
    keeping: tuple[int, ...] = ()
    deliberate = False
    if action != ENDED:
        found = bounds.at(place.belief, left + room)
        judged = [
            (alternative, judge(alternative, action, attained, left, room, keeps is True)) for alternative in found
        ]
        needs = LeastBudget(BaseBounds(model))
        verdicts = [needs.decide(place.belief, left + room, a) for a in range(model.n_actions)]
        keeping = tuple(a for a, verdict in enumerate(verdicts) if verdict)
        deliberate = verdicts[action] is False and bool(keeping)
    return Explanation(
        model=model,
        history=tuple(way.history),
        draw=which[0],
        draws=which[1],
        probability=place.weight,
        belief=place.belief,
        action=None if action == ENDED else action,
        left=left,
        slack=room,
        reward=(attained, float(graph.values[node, 0, 1])),
        cost=cost,
        broken=broken,
        alternatives=judged,
        observations=[(e.observation, e.probability) for e in edges],
        keeps=keeps,
        keeping=keeping,
        deliberate=deliberate,
        judged_by=bounds.source,
        seed=seed,
    )


def _keeps(risk: Risk, node: int, left: FloatArray) -> bool | None:
    """Return whether what is left is kept after all that may follow; None if that is not known."""
    if (risk.most[node] > left).any():
        return False
    return True if risk.whole[node] or np.isinf(left).all() else None


def _between(low: float, high: float, *, unit: float = 1.0) -> str:
    """A number, or a range if the two differ by more than rounding: relative to the larger of their size and `unit`."""
    if low < high == np.inf:
        return f"at least {low:.6g}"
    return (
        f"{low:.6g}"
        if low == high or high - low <= RELATIVE * max(unit, abs(high))
        else f"between {low:.6g} and {high:.6g}"
    )
