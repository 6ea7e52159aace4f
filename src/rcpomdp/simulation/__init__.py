"""Simulated runs of policies."""

from .simulate import Simulation as Simulation
from .simulate import simulate as simulate
