"""Read a PomdpX model (``.pomdpx``): factored POMDPs and MOMDPs in XML, as APPL and SARSOP have them.

Format: Kurniawati, Hsu et al., PomdpX File Format 1.0 (National University of Singapore). Tables may be given as
``TBL``; decision diagrams (``DD``) are refused. What the format has no place for, budgets and costs, stands in
processing instructions of our own (`io/pomdpx/pragma.py`, docs/formats.md).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ModelError, ModelFileError
from ...model import CPOMDP
from ...model.labels import nearest
from ..numbers_in_text import number, whole
from ..readable import check_readable
from ..safe_xml import brief, read_xml
from .flatten import Factored, StateVariable, flatten
from .grammar import CHILDREN, FUNCTIONS, ONCE, TEXTS, check_element
from .pragma import Pragma
from .tables import Room, Table, Variable, refuse

MOST_STATES = 10_000_000
MOST_ROWS = 1 << 23  # states times actions; a row takes 200 to 400 bytes
LONGEST_NAME = 1000
_LETTERS = {"StateVar": "s", "ObsVar": "o", "ActionVar": "a"}


def read_pomdpx(path: str | os.PathLike[str]) -> CPOMDP:
    """The model in a PomdpX file.

    Several state, action or observation variables become one of their combinations, named by the values with commas
    between them. What fully observed variables have become is part of the observation. Rewards are added up.
    """
    name = repr(os.fsdecode(path))
    check_readable(path, "model file", ModelFileError)
    try:
        reader = _Reader()
        read_xml(path, "model file", reader, ModelError)
        return reader.model()
    except ModelError as error:
        told = str(error)
        raise ModelFileError(f"{name}{', ' if told.startswith('line ') else ': '}{told}") from None
    except MemoryError:
        raise ModelFileError(f"{name} needs more memory than there is") from None


class _Reader:
    """A model file being read: the variables and tables so far, and the elements that are open."""

    def __init__(self) -> None:
        self.factored = Factored()
        self.pragma = Pragma()
        self.name = ""
        self.discount: float | None = None
        self._room = Room()
        self._open: list[str] = [""]
        self._done: dict[str, int] = {}  # those of ONCE, and their lines
        self._names: set[str] = set()  # of all variables
        self._before: dict[str, Variable] = {}
        self._after: dict[str, Variable] = {}
        self._root_line, self._has_begun = 1, False
        self._begin = {name: getattr(self, f"_begin_{name.lower()}", None) for name in CHILDREN}
        self._finish = {name: getattr(self, f"_end_{name.lower()}", None) for name in CHILDREN}
        self._clear_variable({}, 0)
        self._clear_function(0)
        self._clear_entry()

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        """Check that an element may stand where it does."""
        above = self._open[-1]
        if above == "Description":
            self._open.append("Description")  # whatever is said there, in whatever elements
            return
        check_element(name, attributes, above, line)
        if name in ONCE:
            if name in self._done:
                raise refuse(line, f"<{name}> is given twice")
            self._done[name] = line
        if name in FUNCTIONS and not self.factored.states:
            raise refuse(line, f"<{name}> comes before <Variable>")
        self._open.append(name)
        begin = self._begin[name]
        if begin is not None:
            begin(attributes, line)

    def end(self, name: str, text: str, line: int) -> None:
        """Take in an element."""
        name = self._open.pop()
        if name not in TEXTS and text.strip():
            raise refuse(line, f"<{name}> has text in it: {brief(text)}")
        finish = self._finish[name]
        if finish is not None:
            finish(text, line)

    def instruction(self, target: str, text: str, line: int) -> None:
        """Take in an instruction of ours; others are passed over."""
        self.pragma.read(target, text, line, in_front=not self._has_begun)

    def _begin_pomdpx(self, attributes: Mapping[str, str], line: int) -> None:
        self.name, self._root_line, self._has_begun = attributes.get("id", ""), line, True

    def _end_discount(self, text: str, line: int) -> None:
        value = number(text.strip())
        if value is None or not 0 <= value <= 1:
            raise refuse(line, f"the discount is {brief(text)}, not a number in [0, 1]")
        self.discount = value

    # Variables

    def _clear_variable(self, attributes: Mapping[str, str], line: int) -> None:
        self._attributes = attributes
        self._values: Callable[[str, str], Variable] | None = None

    def _begin_statevar(self, attributes: Mapping[str, str], line: int) -> None:
        self._clear_variable(attributes, line)

    _begin_obsvar = _begin_actionvar = _begin_statevar

    def _end_numvalues(self, text: str, line: int) -> None:
        size = whole(text.strip())
        if not size:
            raise refuse(line, f"<NumValues> is {brief(text)}, not a whole number above 0")
        if size > MOST_STATES:
            raise refuse(line, f"a variable has {size:,} values, more than the {MOST_STATES:,} that fit")
        self._take_values(lambda name, letter: Variable.numbered(name, size, letter), line)

    def _end_valueenum(self, text: str, line: int) -> None:
        values = text.split()
        if not values:
            raise refuse(line, "<ValueEnum> lists no value")
        seen: set[str] = set()
        for value in values:
            if value in ("-", "*"):
                raise refuse(line, f"{value!r} cannot be the name of a value")
            if len(value) > LONGEST_NAME:
                raise refuse(line, f"the name of a value, {brief(value)}, has more than {LONGEST_NAME} letters")
            if value in seen:
                raise refuse(line, f"value {brief(value)} is listed twice")
            seen.add(value)
        self._take_values(lambda name, letter: Variable.listed(name, values, letter), line)

    def _take_values(self, make: Callable[[str, str], Variable], line: int) -> None:
        if self._values is not None:
            raise refuse(line, "the values of a variable are given twice")
        self._values = make

    def _named(self, key: str, line: int) -> str:
        if key not in self._attributes:
            raise refuse(line, f"a variable has no attribute {key!r}")
        name = self._attributes[key]
        if not name or name.split() != [name] or name == "null":
            raise refuse(line, f"{brief(name)} cannot be the name of a variable")
        if len(name) > LONGEST_NAME:
            raise refuse(line, f"the name of a variable, {brief(name)}, has more than {LONGEST_NAME} letters")
        if name in self._names:
            raise refuse(line, f"variable {name!r} is declared twice")
        self._names.add(name)
        return name

    def _variable(self, kind: str, name: str, line: int) -> Variable:
        if self._values is None:
            raise refuse(line, f"variable {name!r} has no values: <NumValues> or <ValueEnum> is missing")
        return self._values(name, _LETTERS[kind])

    def _end_statevar(self, text: str, line: int) -> None:
        observed = self._attributes.get("fullyObs", "false")
        if observed not in ("true", "false"):
            raise refuse(line, f"fullyObs is {brief(observed)}, neither 'true' nor 'false'")
        before, after = (self._variable("StateVar", self._named(key, line), line) for key in ("vnamePrev", "vnameCurr"))
        self._before[before.name], self._after[after.name] = before, after
        self.factored.states.append(StateVariable(before, after, observed == "true"))

    def _end_obsvar(self, text: str, line: int) -> None:
        self.factored.observations.append(self._variable("ObsVar", self._named("vname", line), line))

    def _end_actionvar(self, text: str, line: int) -> None:
        self.factored.actions.append(self._variable("ActionVar", self._named("vname", line), line))

    def _begin_rewardvar(self, attributes: Mapping[str, str], line: int) -> None:
        self._attributes = attributes
        self.factored.rewards.append(self._named("vname", line))

    def _end_variable(self, text: str, line: int) -> None:
        parts = self.factored
        for found, kind in ((parts.states, "StateVar"), (parts.actions, "ActionVar"), (parts.rewards, "RewardVar")):
            if not found:
                raise refuse(line, f"<Variable> has no <{kind}>")
        n = math.prod(v.before.size for v in parts.states)
        for size, what in ((n, "states"), (math.prod(v.size for v in parts.seen), "observations")):
            if size > MOST_STATES:
                raise refuse(line, f"the variables make {size:,} {what}, more than the {MOST_STATES:,} that fit")
        rows = n * math.prod(v.size for v in parts.actions)
        if rows > MOST_ROWS:
            raise refuse(line, f"there are {rows:,} pairs of state and action, more than the {MOST_ROWS:,} that fit")

    # Functions

    def _clear_function(self, line: int) -> None:
        self._var: str | None = None
        self._parents: list[str] | None = None
        self._table: Table | None = None
        self._line = line

    def _begin_condprob(self, attributes: Mapping[str, str], line: int) -> None:
        self._clear_function(line)

    _begin_func = _begin_condprob

    def _end_var(self, text: str, line: int) -> None:
        if self._var is not None:
            raise refuse(line, "<Var> is given twice")
        self._var = text.strip()

    def _end_parent(self, text: str, line: int) -> None:
        if self._parents is not None:
            raise refuse(line, "<Parent> is given twice")
        self._parents = text.split()
        if "null" in self._parents and self._parents != ["null"]:
            raise refuse(line, "'null' is given beside other parents")
        self._parents = [parent for parent in self._parents if parent != "null"]

    def _begin_parameter(self, attributes: Mapping[str, str], line: int) -> None:
        kind = attributes.get("type", "TBL")
        if kind == "DD":
            raise refuse(line, "decision diagrams (type 'DD') cannot be read; give tables (type 'TBL')")
        if kind != "TBL":
            raise refuse(line, f"the type of <Parameter> is {brief(kind)}, not 'TBL'")
        if self._table is not None:
            raise refuse(line, "<Parameter> is given twice")
        if self._var is None or self._parents is None:
            missing = "Var" if self._var is None else "Parent"
            raise refuse(line, f"<{missing}> is missing before <Parameter>")
        self._table = self._new_table(self._var, self._parents, line)

    def _begin_dag(self, attributes: Mapping[str, str], line: int) -> None:
        raise refuse(line, "decision diagrams (<DAG>) cannot be read; give tables (type 'TBL')")

    def _new_table(self, name: str, parents: Sequence[str], line: int) -> Table:
        """The table of a function, which is now known by its variable."""
        section, parts = self._open[2], self.factored
        actions = {v.name: v for v in parts.actions}
        told = {v.name: v for v in parts.observations}
        own: Mapping[str, Variable | None]
        if section == "InitialStateBelief":
            own, allowed, tables = self._before, self._before, parts.initial
        elif section == "StateTransitionFunction":
            own, allowed, tables = self._after, {**actions, **self._before, **self._after}, parts.transition
        elif section == "ObsFunction":
            own, allowed, tables = told, {**actions, **self._after}, parts.observation
        else:
            everything = {**actions, **self._before, **self._after, **told}
            own, allowed, tables = dict.fromkeys(parts.rewards), everything, parts.reward
        if name not in own:
            raise refuse(line, f"<{section}> has no variable {brief(name)}{nearest(name, own)}")
        if name in tables:
            raise refuse(line, f"variable {name!r} is given twice in <{section}>")
        for i, parent in enumerate(parents):
            if parent not in allowed:
                why = "cannot be a parent here" if parent in self._names else "is not declared"
                raise refuse(line, f"parent {brief(parent)} of {name!r} {why}{nearest(parent, allowed)}")
            if parent == name:
                raise refuse(line, f"{name!r} cannot be its own parent")
            if parent in parents[:i]:
                raise refuse(line, f"parent {parent!r} of {name!r} is given twice")
        variable = own[name]
        columns = [allowed[parent] for parent in parents] + ([] if variable is None else [variable])
        tables[name] = Table(name, columns, line, self._room, of_numbers=variable is None)
        return tables[name]

    def _end_condprob(self, text: str, line: int) -> None:
        if self._table is None:
            raise refuse(line, "<Parameter> is missing")

    _end_func = _end_condprob

    # Entries

    def _clear_entry(self) -> None:
        self._instance: tuple[list[str], int] | None = None
        self._numbers: tuple[list[str], int] | None = None

    def _begin_entry(self, attributes: Mapping[str, str], line: int) -> None:
        self._clear_entry()

    def _end_instance(self, text: str, line: int) -> None:
        if self._instance is not None:
            raise refuse(line, "<Instance> is given twice")
        self._instance = text.split(), line

    def _begin_probtable(self, attributes: Mapping[str, str], line: int) -> None:
        self._begin_numbers("ProbTable", line)

    def _begin_valuetable(self, attributes: Mapping[str, str], line: int) -> None:
        self._begin_numbers("ValueTable", line)

    def _begin_numbers(self, name: str, line: int) -> None:
        right = "ValueTable" if "Func" in self._open else "ProbTable"
        if name != right:
            raise refuse(line, f"<{name}> is not expected here, but <{right}>")

    def _end_probtable(self, text: str, line: int) -> None:
        if self._numbers is not None:
            raise refuse(line, "the numbers of an entry are given twice")
        self._numbers = text.split(), line

    _end_valuetable = _end_probtable

    def _end_entry(self, text: str, line: int) -> None:
        if self._instance is None or self._numbers is None:
            raise refuse(line, f"an entry has no {'instance' if self._instance is None else 'numbers'}")
        assert self._table is not None  # <Parameter> made it
        (instance, instance_line), (numbers, numbers_line) = self._instance, self._numbers
        self._table.add(instance, numbers, instance_line, numbers_line)

    # All of it

    def model(self) -> CPOMDP:
        """The model, if nothing is missing."""
        parts = self.factored
        for element in ("Variable", "Discount"):
            if element not in self._done:
                raise refuse(self._root_line, f"<pomdpx> has no <{element}>")
        needed: list[tuple[str, list[str], Mapping[str, Table]]] = [
            ("InitialStateBelief", list(self._before), parts.initial),
            ("StateTransitionFunction", list(self._after), parts.transition),
            ("ObsFunction", [v.name for v in parts.observations], parts.observation),
            ("RewardFunction", parts.rewards, parts.reward),
        ]
        for section, names, tables in needed:
            for name in names:
                if name not in tables:
                    line = self._done.get(section, self._root_line)
                    raise refuse(line, f"variable {name!r} is missing in <{section}>")
        arrays = flatten(parts)
        extras: dict[str, Any] = {"name": self.name} | self.pragma.extras(arrays)
        return CPOMDP(**arrays | extras, discount=self.discount)  # type: ignore[arg-type] # it was asked for above
