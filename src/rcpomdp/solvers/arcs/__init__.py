"""ARCS: the optimum under budgets that hold in every history. `solve` is its loop."""
