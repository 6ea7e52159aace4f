"""What a solver returns and a simulator runs."""

from .alpha import AlphaPolicy, fib, qmdp
from .base import Batch, BatchPolicy, Policy
from .budgeted import BudgetedAlphaPolicy
from .controller import ControllerPolicy, blind
from .mixture import MixturePolicy
from .random import RandomPolicy

__all__ = [
    "AlphaPolicy",
    "Batch",
    "BatchPolicy",
    "BudgetedAlphaPolicy",
    "ControllerPolicy",
    "MixturePolicy",
    "Policy",
    "RandomPolicy",
    "blind",
    "fib",
    "qmdp",
]
