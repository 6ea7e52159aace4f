"""The elements of a PomdpX file: what may stand in what, and with which attributes."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.labels import nearest
from ..safe_xml import brief
from .tables import refuse

FUNCTIONS = ("InitialStateBelief", "StateTransitionFunction", "ObsFunction", "RewardFunction")
CHILDREN: dict[str, tuple[str, ...]] = {
    "": ("pomdpx",),
    "pomdpx": ("Description", "Discount", "Variable", *FUNCTIONS),
    "Description": (),
    "Discount": (),
    "Variable": ("StateVar", "ObsVar", "ActionVar", "RewardVar"),
    "StateVar": ("NumValues", "ValueEnum"),
    "ObsVar": ("NumValues", "ValueEnum"),
    "ActionVar": ("NumValues", "ValueEnum"),
    "RewardVar": (),
    "NumValues": (),
    "ValueEnum": (),
    **dict.fromkeys(FUNCTIONS[:3], ("CondProb",)),
    "RewardFunction": ("Func",),
    "CondProb": ("Var", "Parent", "Parameter"),
    "Func": ("Var", "Parent", "Parameter"),
    "Var": (),
    "Parent": (),
    "Parameter": ("Entry", "DAG"),
    "DAG": (),
    "Entry": ("Instance", "ProbTable", "ValueTable"),
    "Instance": (),
    "ProbTable": (),
    "ValueTable": (),
}
_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "StateVar": ("vnamePrev", "vnameCurr", "fullyObs"),
    "ObsVar": ("vname",),
    "ActionVar": ("vname",),
    "RewardVar": ("vname",),
    "Parameter": ("type",),
}
TEXTS = {name for name, children in CHILDREN.items() if not children} - {"RewardVar"}
ONCE = ("Discount", "Variable", *FUNCTIONS)


def check_element(name: str, attributes: Mapping[str, str], above: str, line: int) -> None:
    """Refuse an element that may not stand in the one above, or an attribute that it does not have."""
    allowed = CHILDREN[above]
    if name not in allowed:
        if not above:
            raise refuse(line, f"the file begins with {brief(name)}, not <pomdpx>")
        raise refuse(line, f"element {brief(name)} is not expected in <{above}>{nearest(name, allowed)}")
    if name not in _ATTRIBUTES:
        return
    known = _ATTRIBUTES[name]
    for key in attributes:
        if key not in known:
            raise refuse(line, f"<{name}> has no attribute {brief(key)}{nearest(key, known)}")
