"""``rcpomdp solvers``."""

from __future__ import annotations

from .common import AsJson, app
from .output import print_json


@app.command("solvers")
def _solvers(as_json: AsJson = False) -> None:
    """List the solvers and what each guarantees."""
    from ..solvers.registry import catalogue

    if as_json:
        print_json([solver._asdict() for solver in catalogue()])
        return
    for solver in catalogue():
        origin = f" (plug-in {solver.origin})" if solver.origin else ""
        print(f"{solver.name}{origin}: {f'unusable: {solver.error}' if solver.error else solver.summary}")
