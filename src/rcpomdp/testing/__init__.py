"""A conformance test for solvers: what every solver owes to those who call it.

>>> from rcpomdp.testing import check_solver
>>> check_solver("sarsop", problems=["tiger"])

`docs/solvers.md` lists the rules. Each lives in one of: `form` (what a result is made of), `conduct` (the policy
protocol), `truth` (bounds, reward, costs and promises), `conformance` (what takes several runs: limits, interrupts,
repeating, other budgets).
"""

from .conformance import check_solver

__all__ = ["check_solver"]
