"""``rcpomdp problems`` and ``rcpomdp info``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from .. import problems
from .._plain_text import printable
from ..errors import InputError
from . import arguments
from .common import AsJson, Parameters, announce_compilation, app
from .printing import (
    class_facts,
    facts_table,
    model_facts,
    policy_facts,
    policy_table,
    print_json,
    problem_facts,
    problem_row,
    problems_table,
    stdout,
)


@app.command("problems")
def _problems(as_json: AsJson = False) -> None:
    """List the problems: names, sizes, discount, budget."""
    rows = [problem_row(name, problem) for name, problem in problems.catalogue().items()]
    if as_json:
        print_json(rows)
        return
    console = stdout()
    console.print(problems_table(rows, console.width), no_wrap=True, crop=False)


@app.command("info")
def _info(
    what: Annotated[
        str, typer.Argument(metavar="PROBLEM|FILE", help="Name of a problem, a model file or a policy file.")
    ],
    param: Parameters = None,
    as_json: AsJson = False,
) -> None:
    """Describe a problem or a model file (parameters, sizes, rewards, costs, structure), or a policy file."""
    from ..io.model_file import is_model_file

    if is_model_file(what):
        model = arguments.model(what, param, None)
        announce_compilation()
        about = {"model_file": what, "name": model.title}
        facts = {**about, **model_facts(model), **class_facts(model), "fingerprint": model.fingerprint}
    elif what.endswith(".rcp") or (os.path.isfile(what) and what not in problems.names()):
        from ..io import policy_info

        if param:
            raise InputError(f"policy file {what!r} takes no parameters")
        facts = policy_facts(what, policy_info(what))
    else:
        announce_compilation()
        facts = problem_facts(problems.get(what), arguments.parameters(param))
    if as_json:
        print_json(facts)
    else:
        facts = printable(facts)
        stdout().print(policy_table(facts) if "file" in facts else facts_table(facts))
