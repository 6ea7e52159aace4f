"""``rcpomdp check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import AsJson, app, hint_at_costly_ends, say
from .printing import facts_table, model_facts, print_json, stdout

if TYPE_CHECKING:
    from .._types import FloatArray
    from ..model import CPOMDP


@app.command("check")
def _check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model file (.pomdp, .pomdpx).")],
    as_json: AsJson = False,
) -> None:
    """Read a model file, say what is wrong with it or what it holds."""
    from .._plain_text import printable
    from ..io import load_model

    model = load_model(file)
    hint_at_costly_ends(model)
    _hint_at_endlessness(model)
    facts = {
        "model_file": file,
        "name": model.title,
        **model_facts(model),
        "unreachable_states": _unreachable(model),
        "unseen_observations": [str(label) for label in _unseen(model)],
        "fingerprint": model.fingerprint,
    }
    if as_json:
        print_json(facts)
    else:
        told = {key: value for key, value in facts.items() if value not in ("", [])}
        stdout().print(facts_table(printable(told)))


def _hint_at_endlessness(model: CPOMDP) -> None:
    """Say what solving it will need: a model may be read that no solver takes as it is."""
    from ..errors import ModelError

    try:
        model.fade  # noqa: B018 - it refuses a discount of 1 where the process may go on for ever
    except ModelError as error:
        say(str(error))


def _unreachable(model: CPOMDP) -> int:
    """Number of states that no history leads to."""
    import numpy as np
    import scipy.sparse as sp
    from scipy.sparse.csgraph import breadth_first_order

    n, m = model.n_states, model.arrays
    source = np.repeat(np.tile(np.arange(n), model.n_actions), np.diff(m.t_ptr))
    begin = np.flatnonzero(model.initial_belief)
    # One more state, from which all are reached that the model may start in.
    rows, columns = np.append(source, np.full(len(begin), n)), np.append(m.t_next, begin)
    entries: tuple[FloatArray, Any] = np.ones(len(rows)), (rows, columns)
    graph = sp.coo_array(entries, shape=(n + 1, n + 1)).tocsr()
    return n + 1 - len(breadth_first_order(graph, n, return_predecessors=False))


def _unseen(model: CPOMDP) -> list[object]:
    """Observations that no state gives under any action."""
    import numpy as np

    seen = np.bincount(model.arrays.z_obs, minlength=model.n_observations)
    return [model.observations[o] for o in np.flatnonzero(seen == 0).tolist()]
