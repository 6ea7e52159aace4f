"""The point-based search that SARSOP, column generation and ARCS drive: beliefs, bounds over budget levels, plans."""
