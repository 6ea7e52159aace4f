"""The point-based search that SARSOP, column generation and ARCS drive."""

from ..belief_graph.search import Objective
from .options import SearchOptions
from .search import PointBasedSearch

__all__ = ["Objective", "PointBasedSearch", "SearchOptions"]
