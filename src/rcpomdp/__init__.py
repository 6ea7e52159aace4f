"""Planning under uncertainty with budgets that hold all along the way."""
