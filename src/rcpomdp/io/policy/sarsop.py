"""The policy files of SARSOP (``.policy``): α-vectors in XML.

::

    <Policy version="0.1" type="value" model="tiger">
    <AlphaVector vectorLength="2" numObsValue="1" numVectors="1">
    <Vector action="0" obsValue="0">19.37 19.37</Vector>
    </AlphaVector>
    </Policy>

A vector may also be sparse: ``<SparseVector action="0" obsValue="0"><Entry>1 19.37</Entry></SparseVector>``. In files
for models with fully observed variables, obsValue is the value of these and a vector covers the rest of the state.
For a flat model there is only obsValue 0; others are refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

import numpy as np

from ..._types import FloatArray
from ...errors import PolicyError
from ...model import CPOMDP
from ...model.labels import nearest
from ...model.validation import count
from ...policies import AlphaPolicy
from ..numbers_in_text import number, whole
from ..readable import MOST_VALUES
from ..safe_xml import at_line, brief, in_xml, read_xml

_CHILDREN: dict[str, tuple[str, ...]] = {
    "": ("Policy",),
    "Policy": ("AlphaVector",),
    "AlphaVector": ("Vector", "SparseVector"),
    "Vector": (),
    "SparseVector": ("Entry",),
    "Entry": (),
}


def read_sarsop(path: str | os.PathLike[str], model: CPOMDP) -> AlphaPolicy:
    """The vectors of a ``.policy`` file."""
    reader = _Reader(model)
    read_xml(path, "policy file", reader, PolicyError)
    return reader.policy()


class _Reader:
    """A policy file being read: the vectors so far, and the element that is open."""

    def __init__(self, model: CPOMDP) -> None:
        self.model = model
        self.vectors: list[FloatArray] = []
        self.actions: list[int] = []
        self._open = [""]
        self._declared: tuple[int, int] | None = None  # number of vectors, and the line that says so
        self._groups = 0
        self._sparse = np.empty(0)
        self._given: set[int] = set()

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        """Check an element and its attributes."""
        above = self._open[-1]
        if name not in _CHILDREN[above]:
            if not above:
                raise PolicyError(at_line(line, f"the file begins with {brief(name)}, not <Policy>"))
            hint = nearest(name, _CHILDREN[above])
            raise PolicyError(at_line(line, f"element {brief(name)} is not expected in <{above}>{hint}"))
        self._open.append(name)
        if name == "Policy" and attributes.get("type", "value") != "value":
            raise PolicyError(at_line(line, f"the policy is of type {brief(attributes['type'])}, not 'value'"))
        if name == "AlphaVector":
            self._begin_set(attributes, line)
        elif name in ("Vector", "SparseVector"):
            self._begin_vector(attributes, line)
            if name == "SparseVector":
                self._sparse, self._given = np.zeros(self.model.n_states), set()

    def _begin_set(self, attributes: Mapping[str, str], line: int) -> None:
        self._groups += 1
        if self._groups > 1:
            raise PolicyError(at_line(line, "<AlphaVector> is given twice"))
        length = self._attribute("vectorLength", attributes, line)
        if length is None:
            raise PolicyError(at_line(line, "<AlphaVector> has no attribute 'vectorLength'"))
        observed = self._attribute("numObsValue", attributes, line)
        if observed not in (None, 1):
            told = f"the vectors are for {observed} values of fully observed variables"
            raise PolicyError(at_line(line, f"{told}; only vectors over all states (numObsValue 1) can be read"))
        if length != self.model.n_states:
            states = count(self.model.n_states, "state")
            raise PolicyError(at_line(line, f"the vectors have {count(length, 'value')}, but the model has {states}"))
        vectors = self._attribute("numVectors", attributes, line)
        if vectors is not None:
            self._declared = vectors, line

    def _begin_vector(self, attributes: Mapping[str, str], line: int) -> None:
        action = self._attribute("action", attributes, line)
        if action is None:
            raise PolicyError(at_line(line, "the vector has no attribute 'action'"))
        if action >= self.model.n_actions:
            raise PolicyError(at_line(line, f"action {action} is not between 0 and {self.model.n_actions - 1}"))
        observed = self._attribute("obsValue", attributes, line)
        if observed not in (None, 0):
            told = f"the vector is for value {observed} of a fully observed variable"
            raise PolicyError(at_line(line, f"{told}; only vectors over all states (obsValue 0) can be read"))
        if (len(self.vectors) + 1) * self.model.n_states > MOST_VALUES:
            raise PolicyError(at_line(line, f"the vectors have more than {MOST_VALUES:,} values"))
        self.actions.append(action)

    @staticmethod
    def _attribute(key: str, attributes: Mapping[str, str], line: int) -> int | None:
        if key not in attributes:
            return None
        value = whole(attributes[key].strip())
        if value is None:
            raise PolicyError(at_line(line, f"{key} is {brief(attributes[key])}, not a whole number"))
        return value

    def end(self, name: str, text: str, line: int) -> None:
        """Take in an element."""
        self._open.pop()
        if name not in ("Vector", "Entry") and text.strip():
            raise PolicyError(at_line(line, f"<{name}> has text in it"))
        if name == "Vector":
            words = text.split()
            if len(words) != self.model.n_states:
                states = count(self.model.n_states, "state")
                told = f"the vector has {count(len(words), 'value')}, but the model has {states}"
                raise PolicyError(at_line(line, told))
            self.vectors.append(np.array([_finite(word, line) for word in words]))
        elif name == "Entry":
            self._take_entry(text.split(), line)
        elif name == "SparseVector":
            self.vectors.append(self._sparse)

    def _take_entry(self, words: list[str], line: int) -> None:
        if len(words) != 2:
            told = f"an entry is a state and its value, not {count(len(words), 'word')}"
            raise PolicyError(at_line(line, told))
        s = whole(words[0])
        if s is None or s >= self.model.n_states:
            raise PolicyError(at_line(line, f"state {brief(words[0])} is not between 0 and {self.model.n_states - 1}"))
        if s in self._given:
            raise PolicyError(at_line(line, f"state {s} is given twice"))
        self._given.add(s)
        self._sparse[s] = _finite(words[1], line)

    def instruction(self, target: str, text: str, line: int) -> None:
        """Pass over processing instructions: the format has none."""

    def policy(self) -> AlphaPolicy:
        """The vectors, if all that were announced are there."""
        if not self.vectors:
            raise PolicyError("the file has no vector")
        if self._declared is not None and self._declared[0] != len(self.vectors):
            n, line = self._declared
            raise PolicyError(at_line(line, f"{count(n, 'vector')} announced, but the file has {len(self.vectors)}"))
        return AlphaPolicy(self.model, np.array(self.vectors), np.array(self.actions))


def _finite(word: str, line: int) -> float:
    value = number(word)
    if value is None:
        raise PolicyError(at_line(line, f"{brief(word)} is not a finite number"))
    return value


def sarsop_lines(policy: AlphaPolicy, model: CPOMDP) -> Iterator[str]:
    """The lines of a ``.policy`` file; its vectors are dense."""
    n, length = policy.vectors.shape
    name = quoteattr(model.name if in_xml(model.name) else "")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<Policy version="0.1" type="value" model={name}>'
    yield f'<AlphaVector vectorLength="{length}" numObsValue="1" numVectors="{n}">'
    for action, vector in zip(policy.actions.tolist(), policy.vectors, strict=True):
        values = " ".join(map(repr, vector.tolist()))
        yield f'<Vector action="{action}" obsValue="0">{values} </Vector>'
    yield "</AlphaVector>\n</Policy>"
