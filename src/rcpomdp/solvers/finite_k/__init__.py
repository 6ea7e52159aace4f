"""The budget held at histories shorter than k: a tree over beliefs and budgets whose leaves are C-POMDPs."""
