"""Constrained POMDPs: the model, its labels, its beliefs and its observability classes."""

from .cpomdp import CPOMDP as CPOMDP
