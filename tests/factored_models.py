"""Random factored models as PomdpX text, with the dense arrays that the text means.

Two state variables, the second of which may depend on what the first becomes; two observation variables; two rewards,
one over anything that happens in a step. Any state variable may be fully observed. Tables are drawn whole, and written
as entries with "-" for some columns and values for the others, after entries that they overwrite.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

_LETTERS = {"x0": "s", "y0": "s", "x1": "s", "y1": "s", "a": "a", "u": "o", "v": "o"}
_STEP = "a x0 y0 x1 y1"
_REWARDS = ("r", "q")
_SECTIONS = {
    "InitialStateBelief": ("y0", "x0"),
    "StateTransitionFunction": ("y1", "x1"),
    "ObsFunction": ("v", "u"),
    "RewardFunction": ("r", "q"),
}


def random_factored(rng: np.random.Generator) -> tuple[str, dict[str, np.ndarray]]:
    """The text, and T[a, s, s'], Z[a, s', o], R[s, a] and b[s]."""
    model = _Model(rng)
    return model.text(), model.arrays()


class _Model:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        x, y, a, u, v = (int(rng.integers(1, 4)) for _ in range(5))
        self.size = {"x0": x, "y0": y, "x1": x, "y1": y, "a": a, "u": u, "v": v}
        self.seen = [bool(rng.random() < 0.4) for _ in range(2)]
        self.parents = {
            "x0": [],
            "y0": self._some("x0"),
            "x1": self._some("a x0 y0"),
            "y1": self._some("a x0 y0 x1"),
            "u": self._some("a x1 y1"),
            "v": self._some("a x1 y1"),
            "r": self._some(f"{_STEP} u v"),
            "q": self._some("a x0 y0"),
        }
        self.tables = {name: self._table(name) for name in self.parents}

    def _some(self, names: str) -> list[str]:
        chosen = [name for name in names.split() if self.rng.random() < 0.6]
        self.rng.shuffle(chosen)
        return chosen

    def _columns(self, name: str) -> list[str]:
        return self.parents[name] if name in _REWARDS else [*self.parents[name], name]

    def _table(self, name: str) -> np.ndarray:
        shape = [self.size[column] for column in self._columns(name)]
        if name in _REWARDS:
            return self.rng.integers(-3, 4, shape) * 0.37
        weights = self.rng.integers(0, 3, shape) + (self.rng.random(shape) < 0.3)
        weights[..., 0] += weights.sum(axis=-1) == 0
        return weights / weights.sum(axis=-1, keepdims=True)

    # As text

    def text(self) -> str:
        flags = ["true" if is_seen else "false" for is_seen in self.seen]
        n = {name: f"<NumValues>{size}</NumValues>" for name, size in self.size.items()}
        sections = (
            f"<{section}>{''.join(map(self._function, names))}</{section}>" for section, names in _SECTIONS.items()
        )
        return (
            '<pomdpx id="random"><Discount>0.5</Discount><Variable>'
            f'<StateVar vnamePrev="x0" vnameCurr="x1" fullyObs="{flags[0]}">{n["x0"]}</StateVar>'
            f'<StateVar vnamePrev="y0" vnameCurr="y1" fullyObs="{flags[1]}">{n["y0"]}</StateVar>'
            f'<ObsVar vname="u">{n["u"]}</ObsVar><ObsVar vname="v">{n["v"]}</ObsVar>'
            f'<ActionVar vname="a">{n["a"]}</ActionVar><RewardVar vname="r"/><RewardVar vname="q"/></Variable>'
            + "\n".join(sections)
            + "</pomdpx>"
        )

    def _function(self, name: str) -> str:
        element = "Func" if name in _REWARDS else "CondProb"
        body = "\n".join([*self._noise(name), *self._entries(name)])
        return (
            f"<{element}><Var>{name}</Var><Parent>{' '.join(self.parents[name]) or 'null'}</Parent>"
            f'<Parameter type="TBL">{body}</Parameter></{element}>'
        )

    def _entry(self, name: str, words: list[str], numbers: str) -> str:
        element = "ValueTable" if name in _REWARDS else "ProbTable"
        return f"<Entry><Instance>{' '.join(words)}</Instance><{element}>{numbers}</{element}></Entry>"

    def _noise(self, name: str) -> list[str]:
        """Entries that are overwritten by those that follow."""
        columns, lines = self._columns(name), []
        for _ in range(int(self.rng.integers(0, 3))):
            words = [str(self.rng.choice(["*", self._value(c, self.rng.integers(self.size[c]))])) for c in columns]
            lines.append(self._entry(name, words, repr(float(self.rng.random()))))
        if self.rng.random() < 0.3 and name not in _REWARDS:
            lines.append(self._entry(name, ["*"] * (len(columns) - 1) + ["-"], "uniform"))
            if len(columns) > 1 and self.size[columns[-1]] == self.size[columns[-2]]:
                lines.append(self._entry(name, ["*"] * (len(columns) - 2) + ["-", "-"], "identity"))
        return lines

    def _value(self, column: str, i: int) -> str:
        return f"{_LETTERS[column]}{i}"

    def _entries(self, name: str) -> list[str]:
        columns, lines = self._columns(name), []
        across = self.rng.random(len(columns)) < 0.5
        fixed = np.flatnonzero(~across).tolist()
        for place in itertools.product(*(range(self.size[columns[i]]) for i in fixed)):
            words: list[str] = ["-"] * len(columns)
            index: list[int | slice] = [slice(None)] * len(columns)
            for i, value in zip(fixed, place, strict=True):
                words[i], index[i] = self._value(columns[i], value), value
            block = np.ravel(self.tables[name][tuple(index)])
            lines.append(self._entry(name, words, " ".join(map(repr, block.tolist()))))
        return lines

    # As arrays

    def _dense(self, name: str, axes: str) -> np.ndarray:
        """A table with its axes in the order of `axes`, of size 1 where it does not depend on them."""
        own = self._columns(name)
        order = [own.index(axis) for axis in axes.split() if axis in own]
        return self.tables[name].transpose(order).reshape([self.size[a] if a in own else 1 for a in axes.split()])

    def arrays(self) -> dict[str, np.ndarray]:
        x, y, m, u, v = (self.size[name] for name in ("x0", "y0", "a", "u", "v"))
        belief = self._dense("x0", "x0 y0") * self._dense("y0", "x0 y0")
        moved = np.broadcast_to(self._dense("x1", _STEP) * self._dense("y1", _STEP), (m, x, y, x, y))
        told = np.broadcast_to(self._dense("u", "a x1 y1 u v") * self._dense("v", "a x1 y1 u v"), (m, x, y, u, v))
        outcome = moved[..., None, None] * told[:, None, None]
        gain = self._dense("r", f"{_STEP} u v") + self._dense("q", f"{_STEP} u v")
        shown = told.reshape(m, x, y, 1, 1, u, v)
        if self.seen[0]:
            shown = shown * np.eye(x).reshape(1, x, 1, x, 1, 1, 1)
        if self.seen[1]:
            shown = shown * np.eye(y).reshape(1, 1, y, 1, y, 1, 1)
        return {
            "T": moved.reshape(m, x * y, x * y),
            "Z": shown.reshape(m, x * y, -1),
            "R": (outcome * gain).sum(axis=(3, 4, 5, 6)).reshape(m, math.prod((x, y))).T,
            "b": belief.reshape(-1),
        }
