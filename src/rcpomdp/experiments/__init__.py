"""Experiments: suites of cells, a store of what came of them, and tables, plots and a report that read it.

Runs write records; tables and plots read records, and never run a solver.
"""
