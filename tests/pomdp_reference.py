"""A second reader of `.pomdp` files: dense, slow and short, for files that are known to be well formed.

And `random_file`, which writes a random model in a random choice of forms.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any, NamedTuple

import numpy as np

TOKEN = re.compile(r"[:*]|[^\s:*#]+")
HEADER = ("discount", "values", "states", "actions", "observations", "start", "T", "O", "R")


class Meaning(NamedTuple):
    """What a file says, dense."""

    T: np.ndarray  # [A, S, S]
    Z: np.ndarray  # [A, S, O]
    R: np.ndarray  # [A, S, S, O]
    C: np.ndarray  # [K, A, S, S, O]
    start: np.ndarray
    discount: float
    budget: list[float]

    def mean(self, values: np.ndarray) -> np.ndarray:
        """X[s, a] of X[a, s, s', o]."""
        return np.einsum("ast,ato,asto->sa", self.T, self.Z, values)


def read(text: str) -> Meaning:  # noqa: PLR0912, PLR0915 - a file from beginning to end
    """The meaning of a well-formed file."""
    lines = text.split("\n")
    pragma = re.compile(r"[ \t]*#!(?![/!])(.*)", re.DOTALL)
    body = [word for line in lines for word in TOKEN.findall(line.partition("#")[0])]
    found = [m[1] for m in map(pragma.fullmatch, lines) if m]
    size: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    i = 0
    discount, sign = 0.0, 1.0
    start: Any = None
    T = Z = R = np.zeros(0)

    def ends(j: int) -> bool:
        return j >= len(body) or (body[j] in HEADER and body[j + 1 : j + 2] in ([":"], ["include"], ["exclude"]))

    def choice(kind: str, word: str) -> Any:
        if word == "*":
            return slice(None)
        return names[kind].index(word) if word in names[kind] else int(word)

    while i < len(body):
        keyword, i = body[i], i + 1
        if keyword == "start" and body[i] != ":":
            include, i = body[i] == "include", i + 2
            chosen = np.full(size["states"], not include)
            while not ends(i):
                chosen[choice("states", body[i])] = include
                i += 1
            start = chosen / chosen.sum()
            continue
        i += 1  # the colon
        if keyword == "discount":
            discount, i = float(body[i]), i + 1
        elif keyword == "values":
            sign, i = (-1.0 if body[i] == "cost" else 1.0), i + 1
        elif keyword in ("states", "actions", "observations"):
            first = i
            while not ends(i):
                i += 1
            given = body[first:i]
            names[keyword] = [] if given[0].isdigit() else given
            size[keyword] = int(given[0]) if given[0].isdigit() else len(given)
        elif keyword == "start":
            n = size["states"]
            first = i
            while not ends(i):
                i += 1
            given = body[first:i]
            if given == ["uniform"]:
                start = np.full(n, 1 / n)
            elif len(given) == 1 and (n > 1 or given[0] in [*names["states"], "0"]):
                start = np.eye(n)[choice("states", given[0])]
            else:
                start = np.array([float(word) for word in given])
        else:
            if not R.size:
                n, m, o = size["states"], size["actions"], size["observations"]
                T, Z, R = np.zeros((m, n, n)), np.zeros((m, n, o)), np.zeros((m, n, n, o))
            table, kinds = {
                "T": (T, ("actions", "states", "states")),
                "O": (Z, ("actions", "states", "observations")),
                "R": (R, ("actions", "states", "states", "observations")),
            }[keyword]
            i = assign(table, kinds, body, i, choice, start)
    if not R.size:
        n, m, o = size["states"], size["actions"], size["observations"]
        T, Z, R = np.zeros((m, n, n)), np.zeros((m, n, o)), np.zeros((m, n, n, o))
    C, budget = costs(found, R.shape, choice, names)
    n = size["states"]
    return Meaning(T, Z, sign * R, C, np.full(n, 1 / n) if start is None else start, discount, budget)


def assign(table: np.ndarray, kinds: Any, words: list[str], i: int, choice: Any, start: Any) -> int:
    """Apply one statement, from its first index on; return where the next one begins."""
    place = [choice(kinds[0], words[i])]
    i += 1
    while i < len(words) and words[i] == ":":
        place.append(choice(kinds[len(place)], words[i + 1]))
        i += 2
    shape = table.shape[len(place) :]
    word = words[i]
    if word == "uniform":
        table[tuple(place)] = 1 / shape[-1]
        return i + 1
    if word == "identity":
        table[tuple(place)] = np.eye(shape[-1])
        return i + 1
    if word == "reset":
        table[tuple(place)] = np.full(shape[-1], 1 / shape[-1]) if start is None else start
        return i + 1
    count = int(np.prod(shape, dtype=int))
    values = np.array([float(word) for word in words[i : i + count]]).reshape(shape)
    table[tuple(place)] = values
    return i + count


def costs(lines: list[str], shape: tuple[int, ...], choice: Any, names: dict[str, list[str]]) -> Any:
    """C[k] and the budgets of the pragma lines."""
    C, budget, labels = np.zeros((0, *shape)), [], []
    words: list[str] = []
    for line in lines:
        if re.match(r"\s*(states|actions|observations|name|terminal|rcpomdp|end)\s*:", line):
            continue
        declared = re.match(r"\s*costs\s*:\s*([0-9]+)(.*)", line)
        if declared:
            C = np.zeros((int(declared[1]), *shape))
            rest = declared[2].strip()
            labels = json.loads(rest) if rest.startswith("[") else TOKEN.findall(rest.partition("#")[0])
        else:
            words += TOKEN.findall(line.partition("#")[0])
    kinds = ("actions", "states", "states", "observations")
    i = 0
    while i < len(words):
        keyword, i = words[i], i + 2
        if keyword == "budget":
            budget, i = [float(word) for word in words[i : i + len(C)]], i + len(C)
        else:
            k = keyword[2:-1]
            i = assign(C[labels.index(k) if k in labels else int(k)], kinds, words, i, choice, None)
    return C, budget or [np.inf] * len(C)


class _Writer:
    """Random ways to say a thing."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sizes = {"states": rng.randint(1, 4), "actions": rng.randint(1, 3), "observations": rng.randint(1, 3)}
        pool = ["left", "right-2", "x_y", "Q", "T", "start", "é", "reward"]
        self.names: dict[str, list[str] | None] = {}
        for kind, n in self.sizes.items():
            self.names[kind] = rng.sample(pool, n) if rng.random() < 0.6 else None

    def index(self, kind: str, i: int | None) -> str:
        if i is None:
            return "*"
        names = self.names[kind]
        return names[i] if names is not None and self.rng.random() < 0.7 else str(i)

    def number(self, value: float) -> str:
        value = float(value)
        forms = [repr(value), f"{value:.17g}", f"{value:.17e}", f"{value * 1e3!r}e-3"]
        if value == int(value):
            forms += [str(int(value)), f"{int(value)}."]
        if 0 < value < 1:
            forms.append(repr(value).removeprefix("0"))
        exact = [form for form in forms if float(form) == value]
        form = self.rng.choice(exact)
        return f"+{form}" if value >= 0 and self.rng.random() < 0.1 else form

    def join(self, words: list[str], mark: str = "") -> str:
        """Words with random blanks, newlines and comments between them; each line begins with a mark."""
        text = f"\n{mark}"
        for word in words:
            gap = self.rng.choice([" ", " ", "  ", "\t", f"\n{mark}", f" # T: : *\n{mark}" if not mark else " "])
            text += word + ("" if word == ":" and self.rng.random() < 0.2 else gap)
        return text + "\n"

    def distribution(self, n: int) -> np.ndarray:
        """Multiples of 1/64, whose sums are exact."""
        if self.rng.random() < 0.3:
            return np.eye(n)[self.rng.randrange(n)]
        cuts = sorted(self.rng.randint(0, 64) for _ in range(n - 1))
        return np.diff([0, *cuts, 64]) / 64


def random_file(rng: random.Random) -> tuple[str, Meaning, dict[str, list[str] | None]]:
    """A file, what it means and the names it declares."""
    w = _Writer(rng)
    n, m, o = (w.sizes[kind] for kind in ("states", "actions", "observations"))
    discount, sign = rng.choice([0.0, 0.5, 0.95]), rng.choice([1.0, -1.0])
    header = [
        w.join(["discount", ":", w.number(discount)]),
        w.join(["values", ":", "reward" if sign > 0 else "cost"]),
        *(w.join([kind, ":", *(w.names[kind] or [str(size)])]) for kind, size in w.sizes.items()),
    ]
    rng.shuffle(header)
    start, begin = _start(w, n)
    T, Z = np.zeros((m, n, n)), np.zeros((m, n, o))
    text = "".join(header) + begin
    text += _probabilities(w, "T", T, ("actions", "states", "states"), start)
    text += _probabilities(w, "O", Z, ("actions", "states", "observations"), start)
    R = np.zeros((m, n, n, o))
    text += "".join(_value(w, "R", R, "") for _ in range(rng.randint(0, 6)))
    k = rng.randint(0, 2)
    C, budget = np.zeros((k, m, n, n, o)), [rng.choice([0.0, 2.5, np.inf]) for _ in range(k)]
    if k:
        named = ["time", "risk"][:k] if rng.random() < 0.5 else []
        text += f"\n#! costs: {k} {' '.join(named)}\n"
        text += w.join(["budget", ":", *("inf" if b == np.inf else w.number(b) for b in budget)], "#! ")
        for _ in range(rng.randint(0, 4)):
            which = rng.randrange(k)
            text += _value(w, f"C[{rng.choice([str(which), *named[which : which + 1]])}]", C[which], "#! ")
    return text, Meaning(T, Z, sign * R, C, start, discount, budget), w.names


def _start(w: _Writer, n: int) -> tuple[np.ndarray, str]:
    form = w.rng.choice(["none", "uniform", "vector", "state", "include", "exclude"])
    chosen = w.rng.sample(range(n), w.rng.randint(1, max(n - 1, 1)))
    if form == "vector":
        vector = w.distribution(n)
        return vector, w.join(["start", ":", *map(w.number, vector)])
    if form == "state" and n > 1:
        return np.eye(n)[chosen[0]], w.join(["start", ":", w.index("states", chosen[0])])
    if form == "include" or (form == "exclude" and n > 1):
        mask = np.isin(np.arange(n), chosen) == (form == "include")
        return mask / mask.sum(), w.join(["start", form, ":", *(w.index("states", s) for s in chosen)])
    return np.full(n, 1 / n), w.join(["start", ":", "uniform"]) if form == "uniform" else ""


def _probabilities(w: _Writer, keyword: str, table: np.ndarray, kinds: Any, start: np.ndarray) -> str:
    """Statements that leave a distribution in each row of the table."""
    m, n, width = table.shape
    text = ""
    for _ in range(w.rng.randint(0, 3)):  # what comes first is overwritten
        place = [w.rng.choice([None, w.rng.randrange(size)]) for size in table.shape]
        words = [word for kind, i in zip(kinds, place, strict=True) for word in (":", w.index(kind, i))]
        text += w.join([keyword, *words, w.number(w.rng.choice([0.0, 0.25, 1.0]))])
    for a in [None, *range(m)] if w.rng.random() < 0.5 else range(m):
        actions = slice(None) if a is None else a
        head = [keyword, ":", w.index("actions", a)]
        form = w.rng.choice(["matrix", "rows", "cells", "uniform", "identity", "reset"])
        if form == "uniform":
            table[actions] = 1 / width
            text += w.join([*head, "uniform"])
        elif form == "identity" and n == width:
            table[actions] = np.eye(n)
            text += w.join([*head, "identity"])
        elif form == "reset" and keyword == "T":
            table[actions] = start
            text += w.join([*head, "reset"])
        else:
            rows = np.array([w.distribution(width) for _ in range(n)])
            table[actions] = rows
            if form == "matrix":
                text += w.join([*head, *map(w.number, rows.ravel())])
            else:
                order = w.rng.sample(range(n), n)
                text += "".join(_row(w, [*head, ":", w.index("states", s)], rows[s], kinds[2], form) for s in order)
    if w.rng.random() < 0.3:  # one row for all states
        a = w.rng.randrange(m)
        table[a] = row = w.distribution(width)
        text += w.join([keyword, ":", w.index("actions", a), ":", "*", *map(w.number, row)])
    return text


def _row(w: _Writer, head: list[str], row: np.ndarray, kind: str, form: str) -> str:
    if form != "cells":
        return w.join([*head, *map(w.number, row)])
    clear = w.rng.random() < 0.5
    text = w.join([*head, ":", "*", "0"]) if clear else ""
    for column, value in enumerate(row):
        if value or not clear:
            text += w.join([*head, ":", w.index(kind, column), w.number(value)])
    return text


def _value(w: _Writer, keyword: str, table: np.ndarray, mark: str) -> str:
    """One statement about values."""
    kinds = ("actions", "states", "states", "observations")
    count = w.rng.randint(2, 4)
    place = [w.rng.choice([None, w.rng.randrange(size)]) for size in table.shape[:count]]
    shape = table.shape[count:]
    values = np.array([w.rng.choice([0, 1, -2, 0.1, 7.25]) for _ in range(int(np.prod(shape, dtype=int)))])
    values = (abs(values) if mark else values).reshape(shape)
    table[tuple(slice(None) if i is None else i for i in place)] = values
    words = [word for kind, i in zip(kinds[:count], place, strict=True) for word in (":", w.index(kind, i))]
    return w.join([keyword, *words, *map(w.number, values.ravel())], mark)
