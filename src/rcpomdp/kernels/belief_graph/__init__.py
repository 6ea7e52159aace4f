"""Compiled parts of `solvers.belief_graph`."""
