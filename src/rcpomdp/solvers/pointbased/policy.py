"""What a search has found as a policy: the plans that its best option rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..._types import IntArray
from ...kernels.pointbased.arrays import NONE
from ...policies import ControllerPolicy, PlanSetPolicy

if TYPE_CHECKING:
    from .search import PointBasedSearch


def plan_set(search: PointBasedSearch, option: int) -> PlanSetPolicy:
    """The plans and belief plans that an option of the root leads to, as a policy that changes among them."""
    s, classes = search.parts, search.classes
    x, g, c, b = s.space, s.plans, s.options, s.beliefs
    n_obs, n_actions = x.model.n_observations, x.gain.shape[2]
    number: dict[int, int] = {}  # of options ≥ 0, and of plans as links have them
    order: list[int] = []

    def node(link: int) -> int:
        if link >= 0 and c.info["plan"][link] != NONE:
            link = -2 - int(c.info["plan"][link])
        if link not in number:
            number[link] = len(order)
            order.append(link)
        return number[link]

    node(option)
    actions, successors, sure, domain, values = [], [], [], [], []
    row = len(x.gain) - 1 - search.model.n_costs  # of the reward
    for link in order:
        after = np.full(n_obs, NONE)
        if link >= 0:
            i, a = int(c.info["belief"][link]), int(c.info["action"][link])
            first, edge = int(c.info["links"][link]), int(b.edge[b.info["row"][i], a])
            for e in range(int(b.degree[b.info["row"][i], a])):
                after[b.edge_obs[edge + e]] = node(int(c.link[first + e]))
            sure.append(c.sure[link])
            domain.append(NONE)
            values.append(c.total[link, :1])
        else:
            plan = -2 - link
            cls, a = int(g.info["cls"][plan]), int(g.info["action"][plan])
            pair, first = cls * n_actions + a, int(g.info["links"][plan])
            for f in range(int(x.seen_ptr[pair]), int(x.seen_ptr[pair + 1])):
                after[x.seen_obs[f]] = node(-2 - int(g.link[first + f - x.seen_ptr[pair]]))
            size = int(x.start[cls + 1] - x.start[cls])
            at = int(g.info["values"][plan]) + row * size
            sure.append(g.sure[plan])
            domain.append(cls)
            values.append(g.value[at : at + size])
        actions.append(a)
        successors.append(after)
    kept, domain_of = _used_classes(np.array(domain))
    states = [classes.order[classes.start[k] : classes.start[k + 1]] for k in kept]
    return PlanSetPolicy(
        search.model,
        actions=np.array(actions, dtype=np.int64),
        successors=np.array(successors, dtype=np.int64),
        sure_cost=np.array(sure).reshape(len(order), search.model.n_costs),
        domain=domain_of,
        domain_start=np.cumsum([0, *(len(states_of) for states_of in states)]),
        domain_states=np.concatenate([np.zeros(0, dtype=np.int64), *states]),
        values_start=np.cumsum([0, *(len(v) for v in values)]),
        values=np.concatenate(values),
    )


def controller(search: PointBasedSearch, plan: int) -> ControllerPolicy:
    """A plan as a graph: what follows each observation is a plan of its own."""
    x, g = search.parts.space, search.parts.plans
    number, order = {plan: 0}, [plan]
    successors = []
    for node in order:
        pair = int(g.info["cls"][node]) * x.gain.shape[2] + int(g.info["action"][node])
        row = np.zeros(x.model.n_observations, dtype=np.int64)
        for f in range(int(x.seen_ptr[pair]), int(x.seen_ptr[pair + 1])):
            after = int(g.link[g.info["links"][node] + f - x.seen_ptr[pair]])
            if after not in number:
                number[after] = len(order)
                order.append(after)
            row[x.seen_obs[f]] = number[after]
        successors.append(row)
    return ControllerPolicy(search.model, g.info["action"][order].astype(np.int64), np.array(successors))


def _used_classes(domain: IntArray) -> tuple[list[int], IntArray]:
    """The classes among the domains of nodes, and the nodes' domains by place among them."""
    kept = sorted({int(cls) for cls in domain if cls != NONE})
    place = {cls: n for n, cls in enumerate(kept)}
    return kept, np.array([place.get(int(cls), NONE) for cls in domain], dtype=np.int64)
