"""From a model to bounds on its values."""

from .fib import fib_vectors
from .mdp import mdp_q_values
from .starting import StartingPlan, blind_plans, cost_fib_vectors

__all__ = [
    "StartingPlan",
    "blind_plans",
    "cost_fib_vectors",
    "fib_vectors",
    "mdp_q_values",
]
