"""ARCS as it was published: a tree of histories and a minimum-cost policy at its leaves."""
