"""Benchmark problems by name.

>>> from rcpomdp import problems
>>> problems.make("tunnels", p_correct=0.95)
CPOMDP 'tunnels': 53 states, 3 actions, 5 observations, 1 cost, discount 0.99, budget 1
>>> problems.make("tigre")
Traceback (most recent call last):
rcpomdp.errors.ProblemError: unknown problem 'tigre'; did you mean 'tiger'?
"""

from .parameters import parse
from .registry import Problem, catalogue, get, make, names, register

__all__ = ["Problem", "catalogue", "get", "make", "names", "parse", "register"]
