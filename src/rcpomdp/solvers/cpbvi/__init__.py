"""Point-based value iteration for constrained POMDPs."""
