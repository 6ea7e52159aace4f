"""The point-based search that SARSOP, column generation and ARCS drive."""

from .options import Objective, SearchOptions
from .search import PointBasedSearch

__all__ = ["Objective", "PointBasedSearch", "SearchOptions"]
