"""Policies in files: our own format, and those of SARSOP and pomdp-solve."""
