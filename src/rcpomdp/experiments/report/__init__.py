"""Tables, figures, exports and one page of what experiments gave, read from a store of runs."""
