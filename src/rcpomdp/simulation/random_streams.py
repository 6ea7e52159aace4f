"""The random numbers of simulated runs: run i of a seed draws the same ones, whoever computes it.

Runs come in blocks. Block j draws from child j of the seed: first a uniform per run for where it starts, then, step
by step, a pair per run for the next state and the observation. Another child is the policies' own. A caller of whole
blocks draws them in one call (`simulate`); a caller of single runs jumps over the numbers of the others (`gym`).
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..kernels.simulation.rollout import BLOCK_RUNS

_BLOCK_DRAWS = 2**22  # so that a block's uniforms take 64 MiB, or those of one run


def block_runs(steps: int) -> int:
    """The number of runs of at most so many steps in a block: `BLOCK_RUNS`, but for more than 16,384 steps."""
    return max(1, min(BLOCK_RUNS, _BLOCK_DRAWS // max(steps, 1)))


def generators(seed: int, block: int) -> tuple[np.random.Generator, np.random.Generator]:
    """The generator of a block's world, and the one of its policies."""
    world, mind = np.random.SeedSequence(seed, spawn_key=(block,)).spawn(2)
    return np.random.default_rng(world), np.random.default_rng(mind)


def block(seed: int, number: int, steps: int) -> tuple[FloatArray, FloatArray, np.random.Generator]:
    """The uniforms of a block's starts [runs] and steps [steps, runs, 2], and the generator of its policies.

    A full block is drawn even if fewer runs are wanted, so that what a run draws depends on its number alone.
    """
    world, mind = generators(seed, number)
    runs = block_runs(steps)
    return world.random(runs), world.random((steps, runs, 2)), mind
