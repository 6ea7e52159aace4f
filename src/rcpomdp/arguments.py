"""What the words of the command line mean: parameters, budgets, objectives, and the model they make."""

from __future__ import annotations

from inspect import Parameter
from typing import TYPE_CHECKING, Any

from . import problems
from .errors import InputError, ProblemError

if TYPE_CHECKING:
    from .model import CPOMDP


def parameters(given: list[str] | None) -> dict[str, Any]:
    """Parameters from words of the form key=value.

    >>> parameters(["accuracy=0.9", "budget=none"])
    {'accuracy': 0.9, 'budget': None}
    """
    parsed = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ProblemError(f"parameter {pair!r} is not of the form key=value")
        parsed[key.strip()] = problems.parse(value)
    return parsed


def budgets(given: list[str]) -> list[float]:
    """Budgets, one per word.

    >>> budgets(["3", "inf"])
    [3.0, inf]
    """
    parsed = []
    for word in given:
        try:
            parsed.append(float(word))
        except ValueError:
            raise InputError(f"budget {word!r} is not a number") from None
    return parsed


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


def default_solver() -> str:
    """The solver that is meant if none is named: the one that keeps budgets, where it is there."""
    from .solvers import SOLVERS

    return "arcs" if "arcs" in SOLVERS else next(iter(SOLVERS))


def default_option(solver: str, option: str) -> Any:
    """What a solver's option is unless given; None if it has no such option, or no default."""
    from .solvers import registry

    known = registry.options(solver)
    return known[option].default if option in known and known[option].default is not Parameter.empty else None


def model(problem: str, param: list[str] | None, budget: list[str] | None) -> CPOMDP:
    """The model of a problem, under a budget if one is given."""
    made = problems.make(problem, **parameters(param))
    return made.with_budget(budgets(budget)) if budget else made


def model_of_file(
    path: str, problem: str | None, param: list[str] | None, budget: list[str] | None
) -> tuple[str, CPOMDP, dict[str, Any]]:
    """The problem's name, the model and the facts of a policy file.

    The file names its problem and parameters unless `problem` does. The budget is the one the policy was made for,
    unless another is given.
    """
    from .io import policy_info

    facts = policy_info(path)
    given = parameters(param)
    own = facts["problem"]
    if problem is None:
        if own is None:
            raise InputError(
                f"policy file {path!r} does not name its problem; give it with --problem, "
                "or check a model of your own in Python with rc.load_policy"
            )
        problem = str(own["name"])
        made = problems.make(problem, **{**own["parameters"], **given})
    else:
        made = problems.make(problem, **given)
    if budget:
        made = made.with_budget(budgets(budget))
    elif (
        "budget" not in given and facts["model"]["fingerprint"] == made.fingerprint
    ):  # any other model is refused later
        made = made.with_budget(facts["model"]["budget"])
    return problem, made, facts
