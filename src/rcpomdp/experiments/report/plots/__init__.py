"""Plots of records, a family per module. Which of them apply is told from the records themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...run.record import Record

if TYPE_CHECKING:
    from .style import Plot


def plots(records: Sequence[Record]) -> list[Plot]:
    """Every plot that there is something to show in."""
    # matplotlib takes a while to import, so that whoever needs no plot should not wait for it.
    from .ablation import ablation
    from .bounds import bounds_over_time
    from .distributions import distributions
    from .scaling import scaling
    from .style import look
    from .sweep import budget_sweep
    from .tradeoff import reward_against_violation
    from .tunnels import tunnels

    families = (
        tunnels,
        budget_sweep,
        reward_against_violation,
        distributions,
        bounds_over_time,
        ablation,
        scaling,
    )
    with look():
        found = [plot for family in families for plot in family(records)]
    return [replace(plot, name=_unique(plot.name, found[:place])) for place, plot in enumerate(found)]


def _unique(name: str, before: Sequence[Plot]) -> str:
    """A name that is no other plot's."""
    same = sum(plot.name == name for plot in before)
    return f"{name}-{same + 1}" if same else name
