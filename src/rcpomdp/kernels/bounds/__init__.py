"""Loops of the informed bounds: one-step beliefs, what follows from each, and sweeps over budget levels."""
