"""Proofs of upper bounds, written from what a search has found."""
