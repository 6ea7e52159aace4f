"""From a model to bounds on its values."""

from .fib import fib_vectors
from .mdp import mdp_q_values

__all__ = ["fib_vectors", "mdp_q_values"]
