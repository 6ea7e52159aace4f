"""What came of experiments: tables, figures, exports and one page, read from a store of runs."""
