"""Compiled parts of `solvers.arcs`."""
