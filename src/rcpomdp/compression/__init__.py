"""Smaller controllers: the same promise kept with fewer nodes.

Three steps, each verified: nodes that do the same in every history become one (`policies.equal_nodes`); nodes for which
others can stand in, with no loss of reward and no larger sure cost; and, if a loss is allowed, with no more loss than
that and within the budget. The last verified step is the result.
"""

from .smaller import Compression, compress

__all__ = ["Compression", "compress"]
