"""The point-based search that SARSOP, column generation and ARCS drive."""

from ..belief_graph.search import Objective
from .search import PointBasedSearch
from .switches import PointBasedSwitches

__all__ = ["Objective", "PointBasedSearch", "PointBasedSwitches"]
