"""A model as a PAYNT sketch (a POMDP in the PRISM language), and PAYNT's answer as a controller of ours.

Observations belong to states there, so the last observation o is a variable beside the state s. A first step draws s
from the initial belief. It delays all that follows by one step: values and budget are those of ours times γ.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import rcpomdp as rc
from rcpomdp.policies import ControllerPolicy

FACT = re.compile(r"([AM])\(\[o=(\d+)\s*\],(\d+)\)=a?(\d+)")


def write_sketch(model: rc.CPOMDP, folder: Path) -> None:
    """Write sketch.templ and sketch.props."""
    none, begin = model.n_observations, model.n_observations + 1  # nothing observed yet; before the first step
    lines = ["pomdp", "observables", "  o", "endobservables", "module model"]
    lines += [f"  s : [0..{model.n_states - 1}] init 0;", f"  o : [0..{begin}] init {begin};"]
    start = {(s, none): p for s, p in enumerate(model.initial_belief.tolist()) if p > 0}
    lines.append(f"  [begin] o={begin} -> {_branches(start)};")
    for a in range(model.n_actions):
        T, Z = model.transition[a].toarray(), model.observation[a].toarray()
        for s in range(model.n_states):
            joint = T[s][:, None] * Z  # [s', o]
            follows = {(int(t), int(o)): float(joint[t, o]) for t, o in np.argwhere(joint > 0)}
            lines.append(f"  [a{a}] o!={begin} & s={s} -> {_branches(follows)};")
    lines.append("endmodule")
    for name, values in (("reward", model.reward), ("cost", model.cost[0])):
        lines.append(f'rewards "{name}"')
        lines += [f"  [a{a}] s={s} : {float(values[s, a])!r};" for s, a in np.argwhere(values != 0).tolist()]
        lines.append("endrewards")
    discount, budget = model.discount, float(model.discount * model.budget[0])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sketch.templ").write_text("\n".join(lines) + "\n")
    (folder / "sketch.props").write_text(
        f'R{{"cost"}}<={budget!r} [Cdiscount={discount!r}];\nR{{"reward"}}max=? [Cdiscount={discount!r}];\n'
    )


def read_controller(model: rc.CPOMDP, assignment: str) -> ControllerPolicy:
    """The controller of an assignment "A([o=0],1)=a2, M([o=0],1)=0, ...": actions and next memory by (o, memory)."""
    action: dict[tuple[int, int], int] = {}
    memory: dict[tuple[int, int], int] = {}
    for kind, o, m, value in FACT.findall(assignment):
        (action if kind == "A" else memory)[int(o), int(m)] = int(value)
    size = 1 + max((m for _, m in [*action, *memory]), default=0)
    nodes = [(o, m) for o in range(model.n_observations + 1) for m in range(size)]
    number = {node: i for i, node in enumerate(nodes)}
    # What is not assigned is never reached, or there is but one choice.
    actions = [action.get(node, 0) for node in nodes]
    successors = [[number[o, memory.get(node, 0)] for o in range(model.n_observations)] for node in nodes]
    first = number[model.n_observations, memory.get((model.n_observations + 1, 0), 0)]
    return ControllerPolicy(model, actions, successors, first)


def _branches(chances: dict[tuple[int, int], float]) -> str:
    return " + ".join(f"{p!r}: (s'={s})&(o'={o})" for (s, o), p in chances.items())
