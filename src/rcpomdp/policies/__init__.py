"""Policies: a solver returns one, and a simulator runs it."""

from .alpha import AlphaPolicy, fib, qmdp
from .base import Batch, BatchPolicy, Policy
from .controller import ControllerPolicy, blind
from .graph import PolicyGraph, policy_graph
from .lottery_over_vectors import BudgetedAlphaPolicy
from .mixture import MixturePolicy
from .node_vectors import node_vectors
from .plan_set import PlanSetPolicy
from .random import RandomPolicy
from .stochastic_controller import StochasticControllerPolicy
from .tabulate import tabulate

__all__ = [
    "AlphaPolicy",
    "Batch",
    "BatchPolicy",
    "BudgetedAlphaPolicy",
    "ControllerPolicy",
    "MixturePolicy",
    "PlanSetPolicy",
    "Policy",
    "PolicyGraph",
    "RandomPolicy",
    "StochasticControllerPolicy",
    "blind",
    "fib",
    "node_vectors",
    "policy_graph",
    "qmdp",
    "tabulate",
]
