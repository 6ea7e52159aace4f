"""What the harnesses share: instrumentation, and which errors are clean."""

from __future__ import annotations

import sys
from collections.abc import Callable

import atheris

with atheris.instrument_imports(include=["rcpomdp.io", "rcpomdp.model"]):
    import rcpomdp.io.pomdp.reader
    import rcpomdp.model.cpomdp  # noqa: F401 - imported here to be instrumented

from rcpomdp.errors import InputError


def run(one_input: Callable[[bytes], None]) -> None:
    """Fuzz until a limit of the command line; an InputError of one line is what bad input should give."""

    def guarded(data: bytes) -> None:
        try:
            one_input(data)
        except InputError as error:
            if "\n" in str(error) or not str(error):
                raise AssertionError(f"an error that is not one sentence: {error!r}") from error

    atheris.Setup(sys.argv, guarded)
    atheris.Fuzz()
