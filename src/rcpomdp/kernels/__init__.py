"""Compiled loops over flat arrays: no classes, input or output, clock or logging here.

Modules import numpy and numba alone. Nothing is imported at package level, so that a program which needs
no kernel does not wait for numba.
"""
