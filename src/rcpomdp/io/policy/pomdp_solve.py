"""The policy files of pomdp-solve (A. R. Cassandra): α-vectors (``.alpha``) and policy graphs (``.pg``).

A vector is two lines, its action and its values, one per state; empty lines stand between them. A node of a graph is
one line: its number, its action, and for each observation the number of the node that follows, or ``-`` (``X`` in old
files) where the observation is impossible; such a run would stay where it is. Actions, states and observations are
numbered as in the model. A graph does not say where it is entered: `read_graph` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..._types import FloatArray
from ...errors import PolicyError
from ...model import CPOMDP
from ...model.validation import count
from ...policies import AlphaPolicy, ControllerPolicy
from ..numbers_in_text import number, whole
from ..readable import MOST_VALUES
from ..safe_xml import at_line, brief

_NOWHERE = ("-", "X")
_LETTERS = 400  # of a word with its blanks, more than any number has


def _words(path: str | os.PathLike[str], n_words: int) -> Iterator[tuple[int, list[str]]]:
    """The words of each line that is not empty, with its number; a line too long for `n_words` is refused unread."""
    longest = _LETTERS * (n_words + 2)
    with open(path, "rb") as file:
        for i, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
            if len(line) > longest:
                raise PolicyError(at_line(i, f"there are more than {longest:,} letters, too many for this model"))
            try:
                words = line.decode("ascii").split()
            except UnicodeDecodeError:
                raise PolicyError(at_line(i, "this is not plain text")) from None
            if words:
                yield i, words


def _action(word: str, model: CPOMDP, line: int) -> int:
    a = whole(word)
    if a is None or a >= model.n_actions:
        raise PolicyError(at_line(line, f"action {brief(word)} is not between 0 and {model.n_actions - 1}"))
    return a


def read_alpha(path: str | os.PathLike[str], model: CPOMDP) -> AlphaPolicy:
    """The vectors of an ``.alpha`` file."""
    vectors: list[FloatArray] = []
    actions: list[int] = []
    last = 0
    for last, words in _words(path, model.n_states):
        if len(actions) == len(vectors):
            if len(words) != 1:
                raise PolicyError(at_line(last, f"the action of a vector is expected, not {count(len(words), 'word')}"))
            if (len(actions) + 1) * model.n_states > MOST_VALUES:
                raise PolicyError(at_line(last, f"the vectors have more than {MOST_VALUES:,} values"))
            actions.append(_action(words[0], model, last))
            continue
        if len(words) != model.n_states:
            states = count(model.n_states, "state")
            raise PolicyError(at_line(last, f"the vector has {count(len(words), 'value')}, but the model has {states}"))
        values = [number(word) for word in words]
        if None in values:
            raise PolicyError(at_line(last, f"{brief(words[values.index(None)])} is not a finite number"))
        vectors.append(np.array(values, dtype=np.float64))
    if not actions:
        raise PolicyError("the file has no vector")
    if len(actions) > len(vectors):
        raise PolicyError(at_line(last, "the file ends before the values of the last vector"))
    return AlphaPolicy(model, np.array(vectors), np.array(actions))


def alpha_lines(policy: AlphaPolicy, model: CPOMDP) -> Iterator[str]:
    """The lines of an ``.alpha`` file."""
    for action, vector in zip(policy.actions.tolist(), policy.vectors, strict=True):
        yield str(action)
        yield " ".join(map(repr, vector.tolist()))
        yield ""


def read_graph(path: str | os.PathLike[str], model: CPOMDP, start: int | None = None) -> ControllerPolicy:
    """The graph of a ``.pg`` file, entered at a node given by its place in the file.

    Unless one is given, it is that of the best vector at the initial belief in the ``.alpha`` file of the same name, if
    there is one: pomdp-solve writes both, a vector for each node. Else it is the first.
    """
    actions: list[int] = []
    followers: list[list[str]] = []
    lines: list[int] = []
    place: dict[int, int] = {}
    for line, words in _words(path, 2 + model.n_observations):
        if len(words) != 2 + model.n_observations:
            wanted = f"a node, its action and {count(model.n_observations, 'successor')}"
            raise PolicyError(at_line(line, f"{wanted} are expected, not {count(len(words), 'word')}"))
        if (len(actions) + 1) * model.n_observations > MOST_VALUES:
            raise PolicyError(at_line(line, f"the nodes have more than {MOST_VALUES:,} successors"))
        node = whole(words[0])
        if node is None:
            raise PolicyError(at_line(line, f"node {brief(words[0])} is not a whole number"))
        if node in place:
            raise PolicyError(at_line(line, f"node {node} is given twice"))
        place[node] = len(actions)
        actions.append(_action(words[1], model, line))
        followers.append(words[2:])
        lines.append(line)
    if not actions:
        raise PolicyError("the file has no node")
    successors = np.empty((len(actions), model.n_observations), dtype=np.int64)
    for i, (line, words) in enumerate(zip(lines, followers, strict=True)):
        for o, word in enumerate(words):
            node = None if word in _NOWHERE else whole(word)
            if word not in _NOWHERE and (node is None or node not in place):
                after = repr(model.observations[o])
                raise PolicyError(at_line(line, f"node {brief(word)} after observation {after} does not exist"))
            successors[i, o] = i if node is None else place[node]
    return ControllerPolicy(model, actions, successors, _entered(path, model, len(actions)) if start is None else start)


def _entered(path: str | os.PathLike[str], model: CPOMDP, n_nodes: int) -> int:
    """Node at which a graph is entered, by the vectors that were written with it."""
    beside = Path(os.fsdecode(path)).with_suffix(".alpha")
    if not beside.is_file():
        return 0
    try:
        vectors = read_alpha(beside, model).vectors
    except PolicyError as error:
        raise PolicyError(f"the vectors beside it, {str(beside)!r}, say where to start, but: {error}") from None
    if len(vectors) != n_nodes:
        told = f"{count(len(vectors), 'vector')} for {count(n_nodes, 'node')}"
        raise PolicyError(f"the file beside it, {str(beside)!r}, has {told}, so that the start is not known")
    return int((vectors @ model.initial_belief).argmax())


def graph_lines(policy: ControllerPolicy) -> Iterator[str]:
    """The lines of a ``.pg`` file; the start comes first, and the others keep their order."""
    nodes = [policy.start, *(i for i in range(policy.actions.size) if i != policy.start)]
    number_of = np.empty(len(nodes), dtype=np.int64)
    number_of[nodes] = np.arange(len(nodes))
    for i, node in enumerate(nodes):
        following = " ".join(map(str, number_of[policy.successors[node]].tolist()))
        yield f"{i} {policy.actions[node]}  {following}"
