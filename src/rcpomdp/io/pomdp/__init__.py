"""Models in the `.pomdp` format of Cassandra, with costs and budgets in pragma lines."""
