"""Pictures of a run: one frame a step, as a GIF that moves or a PNG that shows all steps at once.

A frame has the problem's drawing (`rcpomdp.views.drawing`), or, where it has none, its belief as bars; what was
observed and what is done; how much of each budget is spent, and what was earned so far.
"""

from .film import render

__all__ = ["render"]
