"""Costs, budgets and labels that PomdpX has no place for, in processing instructions that other readers pass over.

::

    <?rcpomdp {"version": 1, "name": "tiger", "costs": ["cost"], "budget": [3.0]}?>
    <pomdpx> ... </pomdpx>
    <?rcpomdp-cost 0 0 0 1.0 1 1.0?>
    <?rcpomdp-end?>

The first, before the root element, holds JSON: the name of the model, its costs with their budgets (null is unlimited),
if they have some their discounts and step limits ("cost_discount", "step_limit"), the "horizon" if there is one,
and the labels that are no words of the format ("states", "actions", "observations"). Each of the costs' holds the index
or name of a cost and of an action, then pairs of a state's and the cost there; "*" is all of them, the last that is
told counts, and a cost that is not given is 0. A file that has the first and not the last was cut short. They hold no
">", at which simple parsers would end them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._json_values import finite
from ...errors import ModelError
from ...model import CPOMDP
from ...model.labels import Labels, nearest
from ...model.validation import count
from ..numbers_in_text import number, whole
from ..safe_xml import brief
from .tables import refuse

TARGET, COST_TARGET, END_TARGET = "rcpomdp", "rcpomdp-cost", "rcpomdp-end"
VERSION = 1
_KINDS = {"states": "state", "actions": "action", "observations": "observation"}
_TARGETS = (TARGET, COST_TARGET, END_TARGET)
_PER_COST = ("budget", "cost_discount", "step_limit")
_KEYS = ("version", "name", *_KINDS, "costs", *_PER_COST, "horizon")
_PAIRS = 500  # in one instruction: parsers hold an instruction whole
MOST_NUMBERS = 50_000_000  # of all costs


class Pragma:
    """The instructions of a file."""

    def __init__(self) -> None:
        self._head: dict[str, Any] | None = None
        self._head_line = 0
        self._costs: list[tuple[list[str], int]] = []
        self._has_ended = False

    def read(self, target: str, text: str, line: int, *, in_front: bool) -> None:
        """Take in an instruction; one that is not ours is passed over."""
        if not target.lower().startswith(TARGET):
            return
        if target not in _TARGETS:
            raise refuse(line, f"<?{brief(target)[1:-1]} ...?> is no instruction of ours{nearest(target, _TARGETS)}")
        if self._has_ended:
            raise refuse(line, f"<?{target} ...?> comes after <?{END_TARGET}?>")
        if target == TARGET:
            self._read_head(text, line, in_front=in_front)
            return
        if self._head is None:
            raise refuse(line, f"<?{target} ...?> is given without <?{TARGET} ...?>")
        if target == END_TARGET:
            self._has_ended = True
        else:
            self._costs.append((text.split(), line))

    def _read_head(self, text: str, line: int, *, in_front: bool) -> None:
        if self._head is not None:
            raise refuse(line, f"<?{TARGET} ...?> is given twice")
        if not in_front:
            raise refuse(line, f"<?{TARGET} ...?> comes after <pomdpx> and not before it")
        try:
            head = json.loads(text)
        except (ValueError, RecursionError):
            head = None
        if not isinstance(head, dict):
            raise refuse(line, f"<?{TARGET} ...?> holds no JSON object")
        version = head.get("version")
        if type(version) is not int or version < 1:
            raise refuse(line, f"<?{TARGET} ...?> has no version")
        if version > VERSION:
            raise refuse(line, f"<?{TARGET} ...?> was written by a newer version of rcpomdp")
        for key in head:
            if key not in _KEYS:
                raise refuse(line, f"<?{TARGET} ...?> has no key {brief(key)}{nearest(key, _KEYS)}")
        for key in _PER_COST:
            if key in head and "costs" not in head:
                raise refuse(line, f"there are {key.replace('_', ' ')}s, but no costs")
        self._head, self._head_line = head, line

    def extras(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Labels, costs and budgets as ``CPOMDP(...)`` takes them, for a model with these arrays."""
        if self._head is None:
            return {}
        head, line = self._head, self._head_line
        if not self._has_ended:
            raise refuse(line, f"the file was cut short: its last instruction, <?{END_TARGET}?>, is missing")
        found: dict[str, Any] = {}
        if "name" in head:
            if not isinstance(head["name"], str):
                raise refuse(line, "the name of the model is not text")
            found["name"] = head["name"]
        if "horizon" in head:
            found["horizon"] = _steps(head["horizon"], line)
        for key, kind in _KINDS.items():
            if key in head:
                found[key] = _labels(head[key], kind, len(arrays[key]), line)
        if "costs" in head:
            found["costs"] = names = _labels(head["costs"], "cost", None, line)
            found["budget"] = _per_cost(head.get("budget"), "budget", names, line)
            terms = [key for key in _PER_COST[1:] if key in head]
            found |= {key: _per_cost(head[key], key.replace("_", " "), names, line) for key in terms}
            if names:
                n, m = arrays["reward"].shape
                if len(names) * n * m > MOST_NUMBERS:
                    raise refuse(line, f"the costs are more than {MOST_NUMBERS:,} numbers")
                labels = [names, *(found.get(key, arrays[key]) for key in ("actions", "states"))]
                found["cost"] = self._array(*labels)
                return found
        if self._costs:
            raise refuse(self._costs[0][1], f"<?{COST_TARGET} ...?> is for a cost that <?{TARGET} ...?> does not name")
        return found | {"costs": None, "budget": None}

    def _array(self, costs: Sequence[str], actions: Sequence[str], states: Sequence[str]) -> Any:
        cost = np.zeros((len(costs), len(states), len(actions)))
        for words, line in self._costs:
            if len(words) < 2 or len(words) % 2:
                raise refuse(line, f"<?{COST_TARGET} ...?> needs a cost and an action, then pairs of state and number")
            k = _places(words[0], costs, "cost", line)
            a = _places(words[1], actions, "action", line)
            for state, word in zip(words[2::2], words[3::2], strict=True):
                value = number(word)
                if value is None or value < 0:
                    raise refuse(line, f"cost {brief(word)} is not a number of at least 0")
                cost[k, _places(state, states, "state", line), a] = value
        return cost


def _places(word: str, labels: Sequence[str], kind: str, line: int) -> int | slice:
    """The index that a word gives or names; "*" is all of them."""
    if word == "*":
        return slice(None)
    i = whole(word)
    if i is None and word in labels:
        return labels.index(word)
    if i is None or i >= len(labels):
        raise refuse(line, f"{kind} {brief(word)} is neither a name nor between 0 and {len(labels) - 1}")
    return i


def _labels(given: Any, kind: str, size: int | None, line: int) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(label, str) for label in given):
        raise refuse(line, f"the {kind} labels are no list of texts")
    if len(set(given)) < len(given):
        raise refuse(line, f"two {kind} labels are the same")
    if size is not None and len(given) != size:
        raise refuse(line, f"{count(len(given), f'{kind} label')} given for {count(size, kind)}")
    return given


def _steps(given: Any, line: int) -> int:
    if type(given) is not int or given < 1:
        raise refuse(line, "the horizon is not a number of steps")
    return given


def _per_cost(given: Any, what: str, names: Sequence[str], line: int) -> list[float | None]:
    if not isinstance(given, list) or len(given) != len(names):
        raise refuse(line, f"there is not one {what} for each cost")
    for value in given:
        if value is not None and (type(value) not in (int, float) or not 0 <= value <= sys.float_info.max):
            raise refuse(line, f"{what} {brief(str(value))} is not a finite number of at least 0")
    return given


def in_front(model: CPOMDP, labels: Mapping[str, Sequence[str]], horizon: int | None) -> str:
    """The instruction before the root; `labels` are those that the format itself has no words for."""
    head: dict[str, Any] = {"version": VERSION, "name": model.name}
    texts = {**labels, **({"costs": label_texts(model.costs, "cost")} if model.n_costs else {})}
    for key, written in texts.items():
        if len(set(written)) == len(written):
            head[key] = list(written)
        elif key == "costs":
            head[key] = [f"cost{k}" for k in range(len(written))]
    if model.n_costs:
        head["budget"] = [finite(limit) for limit in model.budget]
        if (model.cost_discount != model.discount).any():
            head["cost_discount"] = model.cost_discount.tolist()
        if model.has_step_limits:
            head["step_limit"] = [finite(limit) for limit in model.step_limit]
    if horizon is not None:
        head["horizon"] = horizon
    return f"<?{TARGET} {json.dumps(head).replace('>', chr(92) + 'u003e')}?>"


def label_texts(labels: Labels, kind: str) -> list[str]:
    """Labels as texts; a number that Python does not turn into text is refused."""
    try:
        return [str(label) for label in labels]
    except (ValueError, RecursionError):
        raise ModelError(f"a {kind} label has too many digits or tuples in it to stand in a file") from None


def behind(model: CPOMDP) -> Iterator[str]:
    """The instructions after the root."""
    for k in range(model.n_costs):
        for a in range(model.n_actions):
            column = model.cost[k, :, a]
            given = np.flatnonzero((column != 0) | np.signbit(column))
            for first in range(0, given.size, _PAIRS):
                pairs = " ".join(f"{s} {column[s].item()!r}" for s in given[first : first + _PAIRS].tolist())
                yield f"<?{COST_TARGET} {k} {a} {pairs}?>"
    yield f"<?{END_TARGET}?>"
