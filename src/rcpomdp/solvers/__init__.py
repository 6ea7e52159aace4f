"""Solvers, one algorithm per file."""
