"""Informed bounds: upper bounds of MDP, FIB and TIB over budget levels.

The relaxation P̄ of an RC-POMDP is an ordinary POMDP whose states are pairs (s, l) of a state and an observed budget
level: action a is allowed in class κ iff ``d_l ≥ c(κ, a)``, the least cost over the class, and leads to the least level
``l' ≥ (d_l − c) / γ``. With a gain ``g = R − λ·C``, every admissible policy earns at most ``V̄(b, l) + λ·d_l``.

- MDP: ``V(s, l) = max_a g(s, a) + γ Σ_s' T(s, a, s') V(s', l')``;
- FIB (Hauskrecht 2000): ``F_a(s, l) = g(s, a) + γ Σ_o max_a' Σ_s' P(s', o | s, a) F_a'(s', l')``: the state becomes
  known with the next observation;
- TIB (Krale et al. 2025): ``Q(b, l, a) = g(b, a) + γ Σ_o max_a' Σ_s b(s) P(o | s, a) Q(b_sao, l', a')`` over one-step
  beliefs b_sao: it becomes known one step late; over the beliefs after k steps, k steps late.

An action that is not allowed is worth −inf, and so is a point from which no policy is admissible. Operators are
monotone and the iteration starts above its fixed point, so it falls from there and every value on the way is a bound:
stopping early is sound. With the unlimited level alone these are the bounds of a plain POMDP.
"""

from .effort import Effort
from .fib_levels import fib_over_levels
from .levels import Levels, budget_levels, no_levels
from .mdp_levels import mdp_over_levels, mdp_q_over_levels
from .tib_levels import TighterBound, tib_over_levels

__all__ = [
    "Effort",
    "Levels",
    "TighterBound",
    "budget_levels",
    "fib_over_levels",
    "mdp_over_levels",
    "mdp_q_over_levels",
    "no_levels",
    "tib_over_levels",
]
