"""A policy's page as a file."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, overload

from ...io.atomic import check_writable, whole_file
from ...model import CPOMDP
from ...policies import Policy
from ...verification.proof import Proof
from .. import notebook
from ..drawing import Drawing
from .page import MOST_NODES, Side, page

_HEIGHT = 720  # pixels of a notebook's cell


class Written(NamedTuple):
    """The extent of a page that was written."""

    nodes: list[int]  # explored, of each policy
    complete: bool  # nothing was left unexplored
    randomised: list[bool]  # which of the policies draw lots, so that the page shows one draw of them
    bytes: int


class Shown(NamedTuple):
    """A page that a notebook shows in its cell."""

    html: str
    nodes: list[int]  # explored, of each policy
    complete: bool  # nothing was left unexplored
    randomised: list[bool]  # which of the policies draw lots, so that the page shows one draw of them

    def __repr__(self) -> str:
        explored = " and ".join(f"{count:,}" for count in self.nodes)
        return f"a page of {explored} nodes, which a notebook shows; give a path to write it"

    def _repr_html_(self) -> str:
        return notebook.inline_page(self.html, _HEIGHT)


@overload
def explore(
    policy: Policy[Any] | Side,
    model: CPOMDP,
    path: str | os.PathLike[str],
    compare: Policy[Any] | Side | None = ...,
    drawing: Drawing | None = ...,
    *,
    most_nodes: int = ...,
    most_steps: int | None = ...,
    seed: int = ...,
    proof: Proof | None = ...,
) -> Written: ...


@overload
def explore(
    policy: Policy[Any] | Side,
    model: CPOMDP,
    path: None = None,
    compare: Policy[Any] | Side | None = ...,
    drawing: Drawing | None = ...,
    *,
    most_nodes: int = ...,
    most_steps: int | None = ...,
    seed: int = ...,
    proof: Proof | None = ...,
) -> Shown: ...


def explore(
    policy: Policy[Any] | Side,
    model: CPOMDP,
    path: str | os.PathLike[str] | None = None,
    compare: Policy[Any] | Side | None = None,
    drawing: Drawing | None = None,
    *,
    most_nodes: int = MOST_NODES,
    most_steps: int | None = None,
    seed: int = 0,
    proof: Proof | None = None,
) -> Written | Shown:
    """Write a policy, or two side by side, as one HTML page to click through; a notebook shows it in its cell.

    Parameters
    ----------
    policy, compare : policies of the model; as ``Side(title, policy)`` with a title of their own
    path : of the page, which takes the place of what is there; without one the page is returned, for a notebook
    drawing : how the model is drawn, as ``problems.get(name).draw(model)`` tells; without one beliefs are bars
    most_nodes, most_steps : where to stop exploring each policy
    seed : of policies that draw at random, of which the page shows one draw
    proof : of the solver, as ``rc.solve(..., proof=True).proof`` has it: actions are judged by what the solver proved,
        else by the bounds that it starts from

    Examples
    --------
    >>> import tempfile
    >>> import rcpomdp as rc
    >>> model = rc.problems.make("ce")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = rc.explore(rc.policies.blind(model, "tunnel-A"), model, f"{folder}/cave.html")
    >>> written.nodes, written.complete
    ([4], True)
    """
    if path is not None:
        check_writable(path)
    given = [policy] if compare is None else [policy, compare]
    names = ["policy"] if compare is None else ["policy", "compared with"]
    sides = [one if isinstance(one, Side) else Side(name, one) for name, one in zip(names, given, strict=True)]
    made = page(model, sides, drawing, most_nodes, most_steps, seed, proof)
    if path is None:
        return Shown(made.html, made.nodes, made.complete, made.randomised)
    content = made.html.encode()
    with whole_file(path) as file:
        file.write(content)
    return Written(made.nodes, made.complete, made.randomised, len(content))
