"""A second opinion on a policy: whether it keeps the budget in every history, and earns what is claimed.

``W(h_t) = Σ_{τ<t} γ^τ C(b_τ, a_τ)`` must not exceed the spending limit in any history that the policy can reach. The
most that can follow a node n of a controller at belief b is the fixed point of ``M(n, b) = C(b, a_n) + γ max_o
M(n_o, b_o)``: no budget enters, so every pair (n, b) is walked once, and the policy keeps the budget iff M is at most
the limit at the start. Pairs that are not walked are bounded from above by the same recursion over supports,
``w(n, S) = max_{s in S} C(s, a_n) + γ max_o w(n_o, S_o)``, where the maximum over states is taken at each step apart;
pairs of node and support that are too many, by the node alone, with all states it can meet; and by 0 where no cost
can be reached.

Plan sets are checked plan by plan (`plan_set.py`).

That no policy does better is proven by the inequalities of a proof (`proof.py`, `inequalities.py`, `check_proof.py`).

Slow and plain on purpose: NumPy, a model's sparse matrices and nothing of the solvers, kernels, beliefs and evaluation
of this package. Beliefs whose probabilities agree to a relative δ are one: Bayes' rule keeps ratios, so what follows
them differs by δ in proportion, and by ``δ/(1−γ)`` at most if that happens again at every step.
"""

from .check import MOST_PAIRS, Verification, verify
from .check_proof import ProofCheck, check_proof
from .proof import Proof

__all__ = ["MOST_PAIRS", "Proof", "ProofCheck", "Verification", "check_proof", "verify"]
