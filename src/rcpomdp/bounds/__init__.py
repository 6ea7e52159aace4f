"""From a model to bounds on its values: `docs/howto/add-a-bound.md` says which module holds which."""

from .blind import BlindPlan, blind_plans
from .fib import cost_fib_vectors, fib_vectors
from .mdp import mdp_q_values

__all__ = [
    "BlindPlan",
    "blind_plans",
    "cost_fib_vectors",
    "fib_vectors",
    "mdp_q_values",
]
