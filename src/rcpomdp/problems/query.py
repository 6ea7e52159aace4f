"""Query: a distributed query process (Cassandra's query.s2, .s3 and .s4) with a cost for remote queries.

Each information source (2, 3 or 4 of them, as published) is down, unloaded or loaded, and goes from one to
another as a Markov chain of its own, towards more load when it is queried. At each step one source is
queried and replies according to the state that it has then: not at all, fast (reward 10) or slowly (reward
3). Nothing is seen of the other sources. All states are equally likely at first.

The classic problem has no cost, and a cost that is the same for every query would not matter. Here the
first source is local and free, and a query to any other costs 1, so the least cost is 0. For 3 sources
without a budget, point-based value iteration finds policies worth 546.8, which query a remote source two
times in three and cost about 67. The default budget is about half of that cost.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from .._types import FloatArray
from ..errors import ModelError
from ..model import CPOMDP

LOADS = ("down", "unloaded", "loaded")
REPLIES = ("no-response", "fast-response", "slow-response")
REWARD = np.array([0.0, 10.0, 3.0])  # [reply]
REPLY = np.array([[1, 0, 0], [0.02, 0.9, 0.08], [0.2, 0.05, 0.75]])  # [load, reply]
QUERIED = np.array([[0.8, 0.1, 0.1], [0.05, 0.75, 0.2], [0.1, 0.05, 0.85]])  # [load, next load]
NOT_QUERIED = np.array([[0.8, 0.15, 0.05], [0.05, 0.8, 0.15], [0.05, 0.15, 0.8]])  # [load, next load]
MAX_SOURCES = 6  # transitions are dense: 6 sources have 729 states and take 25 MB


def query(
    *,
    sources: int = 3,
    discount: float = 0.99,
    remote_cost: float = 1.0,
    budget: float | None = 30.0,
) -> CPOMDP:
    """A client chooses which information source to query, where all but the first cost something.

    Parameters
    ----------
    sources : how many sources there are, from 2 to 6; the states are 3 to that power
    discount : the classic problem takes 0.99
    remote_cost : cost of a query to any source but the first
    budget : bound on the expected total cost; None is unlimited

    Examples
    --------
    >>> query()
    CPOMDP 'query-s3': 27 states, 3 actions, 3 observations, 1 cost, discount 0.99, budget 30
    """
    if sources not in range(2, MAX_SOURCES + 1):
        raise ModelError(f"sources is {sources}, but there must be 2 to {MAX_SOURCES} of them")
    n = len(LOADS) ** sources
    transition = np.empty((sources, n, n))
    observation = np.empty((sources, n, len(REPLIES)))
    for a in range(sources):
        transition[a] = _joint([QUERIED if i == a else NOT_QUERIED for i in range(sources)])
        observation[a] = _joint([REPLY if i == a else np.ones((len(LOADS), 1)) for i in range(sources)])
    cost = np.full((n, sources), remote_cost)
    cost[:, 0] = 0.0
    return CPOMDP(
        states=["/".join(reversed(loads)) for loads in product(LOADS, repeat=sources)],
        actions=[f"query-{i + 1}" for i in range(sources)],
        observations=REPLIES,
        transition=transition,
        observation=observation,
        reward=(transition @ observation @ REWARD).T,
        cost=cost,
        initial_belief=np.full(n, 1 / n),
        discount=discount,
        budget=budget,
        name=f"query-s{sources}",
    )


def _joint(tables: list[FloatArray]) -> FloatArray:
    """The tables of independent sources as one; from row to row the first source changes fastest."""
    joint: FloatArray = np.ones((1, 1))
    for table in tables:
        joint = np.kron(table, joint).astype(np.float64)
    return joint
