"""Column generation for constrained POMDPs, open loop and closed loop."""
