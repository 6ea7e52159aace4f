"""Words of the command line: parameters, budgets, objectives, and the model they make."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import problems
from ..errors import InputError, ProblemError
from ..problems.registry import TERMS, with_terms
from .common import say

if TYPE_CHECKING:
    from ..model import CPOMDP
    from ..views.drawing import Drawing


def parameters(given: list[str] | None, what: str = "parameter") -> dict[str, Any]:
    """Parameters, or whatever they are, from words of the form key=value.

    >>> parameters(["accuracy=0.9", "budget=none"])
    {'accuracy': 0.9, 'budget': None}
    """
    parsed = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ProblemError(f"{what} {pair!r} is not of the form key=value")
        if key.strip() in parsed:
            raise ProblemError(f"{what} {key.strip()!r} is given twice")
        parsed[key.strip()] = problems.parse(value)
    return parsed


def budgets(given: list[str]) -> list[float] | dict[str, float]:
    """Budgets, one per word; or by the names of their costs.

    >>> budgets(["3", "inf"]), budgets(["risk=0.1"])
    ([3.0, inf], {'risk': 0.1})
    """
    parsed = []
    for word in given:
        name, _, value = word.rpartition("=")
        try:
            parsed.append((name, float(value)))
        except ValueError:
            raise InputError(f"budget {word!r} is not a number, or NAME=NUMBER") from None
    if all(name for name, _ in parsed):
        if len(dict(parsed)) < len(parsed):
            raise InputError("a budget is given twice")
        return dict(parsed)
    if any(name for name, _ in parsed):
        raise InputError("give a name to every budget, or to none")
    return [value for _, value in parsed]


def number(text: str) -> float | str:
    """A number, a whole one where it is; a word that is none stays what it is, for others to refuse.

    >>> number("3"), number("inf"), number("many")
    (3, inf, 'many')
    """
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def history(text: str) -> list[Any]:
    """A history from words of the form action:observation, or observation, with commas between.

    >>> history("listen:hear-left, hear-right")
    [('listen', 'hear-left'), 'hear-right']
    """
    steps: list[Any] = []
    for word in filter(None, map(str.strip, text.split(","))):
        action, colon, observation = word.rpartition(":")
        steps.append((action, observation) if colon else observation)
    return steps


def objective(text: str) -> str | list[float]:
    """An objective: a word, or weights."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return text


def options(given: list[str] | None, flags: dict[str, Any]) -> dict[str, Any]:
    """A solver's options: those that have flags of their own, where given, and those given as key=value.

    >>> options(["iterations=500"], {"epsilon": 0.01, "seed": None})
    {'epsilon': 0.01, 'iterations': 500}
    """
    named = {key: value for key, value in flags.items() if value is not None}
    others = parameters(given, "option")
    for key in others:
        if key in flags:
            raise InputError(f"option {key!r} has a flag of its own: --{key.replace('_', '-')}")
        if key in _PYTHON_ONLY:
            raise InputError(f"option {key!r} is for Python alone")
    return named | others


_PYTHON_ONLY = ("progress", "switches")  # a function, and a record of switches


def _made(problem: str, given: dict[str, Any]) -> CPOMDP:
    """The model of a word: a model file if it ends like one, else a problem's name."""
    from ..io.model_file import is_model_file, load_model

    if not is_model_file(problem):
        return problems.make(problem, **given)
    for key in given:
        if key not in TERMS:
            raise InputError(f"model file {problem!r} takes no parameter {key!r}, only {', '.join(TERMS)}")
    loaded = load_model(problem)
    made = with_terms(loaded, given)
    if loaded.horizon not in (None, made.horizon):
        say(f"the horizon of model file {problem!r} is {loaded.horizon}, and {made.horizon} takes its place")
    return made.from_source(problem, given)


def model(problem: str, param: list[str] | None, budget: list[str] | None, costs: list[str] | None = None) -> CPOMDP:
    """The model of a problem or a model file, with further costs and under a budget if they are given."""
    made = _made(problem, parameters(param) | ({"added_costs": costs} if costs else {}))
    if budget and not made.n_costs:
        raise InputError(
            f"{problem!r} has no costs that a budget could limit; add one by --cost 'NAME: ACTION : STATE VALUE', by "
            "model.with_costs in Python, or in the file (docs/formats.md)"
        )
    return made.with_budget(budgets(budget)) if budget else made


def file_format(given: str | None, out: str | None, endings: dict[str, str], default: str) -> str:
    """The format to write: the one that is asked for, else that of the file's ending."""
    known = list(dict.fromkeys(endings.values()))
    if given is None:
        ending = "" if out is None else Path(out).suffix.lower()
        return endings.get(ending, default)
    if given not in known:
        raise InputError(f"format {given!r} is none of {', '.join(known[:-1])} and {known[-1]}")
    return given


def drawing(problem: str, model: CPOMDP) -> Drawing | None:
    """The drawing of a problem's model, or that beside a model file; else its cells, if states are called so."""
    from ..io.model_file import is_model_file
    from ..views.drawing_file import drawing_beside
    from ..views.grid import grid_drawing

    own = drawing_beside(problem, model) if is_model_file(problem) else problems.get(problem).draw(model)
    return grid_drawing(model) if own is None else own


def model_of_file(
    path: str,
    problem: str | None,
    param: list[str] | None,
    budget: list[str] | None,
    keep_budget: bool = False,
) -> tuple[str, CPOMDP, dict[str, Any]]:
    """The problem's name, the model and the facts of a policy file.

    The file names its problem and parameters unless `problem` does. The budget is the one the policy was made for,
    unless another is given, or `keep_budget` asks for that of the problem.
    """
    from ..io import policy_info
    from ..io.policy.foreign import is_foreign

    given = parameters(param)
    if is_foreign(path):
        if problem is None:
            raise InputError(f"policy file {path!r} does not name its problem; give its name or file with --problem")
        return problem, model(problem, param, budget), {"claims": None}
    facts = policy_info(path)
    own = facts["problem"]
    if problem is None:
        if own is None:
            raise InputError(
                f"policy file {path!r} does not name its problem; give its name or model file with --problem "
                "(rc.save_model writes the file of a model made in Python)"
            )
        problem = str(own["name"])
        made = _made(problem, {**own["parameters"], **given})
    else:
        made = _made(problem, given)
    if budget:
        made = made.with_budget(budgets(budget))
    elif (
        not keep_budget and "budget" not in given and facts["model"]["fingerprint"] == made.fingerprint
    ):  # any other model is refused later
        made = made.with_budget(facts["model"]["budget"])
    return problem, made, facts


def model_of_proof(
    path: str, problem: str | None, param: list[str] | None, budget: list[str] | None
) -> tuple[str, CPOMDP]:
    """The problem's name and the model of a proof file, which names both unless `problem` does."""
    from ..io import proof_info

    given, facts = parameters(param), proof_info(path)
    own = facts["problem"]
    if problem is None and own is None:
        raise InputError(f"proof file {path!r} does not name its problem; give it with --problem")
    if problem is None:
        problem, given = str(own["name"]), {**own["parameters"], **given}
    made = _made(problem, given)
    if budget:
        made = made.with_budget(budgets(budget))
    elif "budget" not in parameters(param) and facts["model"]["fingerprint"] == made.fingerprint:
        made = made.with_budget(facts["model"]["budget"])
    return problem, made
