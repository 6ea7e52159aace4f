"""Search over a graph of beliefs that repeat, for one objective: what SARSOP, CGCP and ARCS stand on."""
