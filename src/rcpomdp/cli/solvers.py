"""``rcpomdp solvers``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .common import AsJson, app, tell
from .printing import print_json

if TYPE_CHECKING:
    from ..solvers import Solver


@app.command("solvers")
def _solvers(as_json: AsJson = False) -> None:
    """List the solvers, what each guarantees, and what it is."""
    from ..solvers.registry import catalogue

    if as_json:
        print_json([_facts(solver) for solver in catalogue()])
        return
    for solver in catalogue():
        origin = f" (plug-in {solver.origin})" if solver.origin else ""
        if solver.error:
            tell(f"{solver.name}{origin}: unusable: {solver.error}")
        else:
            tell(f"{solver.name}{origin}: {solver.summary}")
            tell(f"    {_traits(solver)}")


def _facts(solver: Solver) -> dict[str, Any]:
    """A solver as JSON; of one that cannot be used, no trait is known."""
    traits = ("criterion", "online", "randomised", "bounds", "variants")
    return {
        **{name: getattr(solver, name) for name in ("name", "summary", "origin", "error")},
        **{name: None if solver.error else getattr(solver, name) for name in traits},
    }


_KEPT = {
    "every history": "budget in every history",
    "expectation": "budget in expectation",
    "none": "no budget",
    None: "budget not told",
}


def _traits(solver: Solver) -> str:
    """The traits of a solver in words."""
    words = [_KEPT[solver.criterion], "bounds" if solver.bounds else "no bounds"]
    words.append("randomised policy" if solver.randomised else "deterministic policy")
    words += ["solves while it runs"] if solver.online else []
    words += [f"variants {', '.join(solver.variants)}"] if solver.variants else []
    return "; ".join(words)
