"""Compiled parts of `solvers.arcs_published`."""
