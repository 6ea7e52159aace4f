"""Errors of input: every message is one sentence that names the offender."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Bad input from the caller; the command line prints it and exits with 2."""


class ModelError(InputError):
    """A model that is not a constrained POMDP."""


class ModelFileError(ModelError):
    """A model file that cannot be read; the sentence says where."""


class ProblemError(InputError):
    """An unknown problem, or a parameter it does not take."""


class PolicyError(InputError):
    """A policy that does not fit the model, or a policy file that cannot be used."""


class ProofError(InputError):
    """A proof that does not fit the model, or a proof file that cannot be used."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A closing clause that offers the nearest known word, or nothing.

    >>> did_you_mean("tigre", ["tiger", "tunnels"])
    "; did you mean 'tiger'?"
    >>> did_you_mean("FIB", ["fib", "fibre"])
    "; did you mean 'fib'?"
    >>> did_you_mean("xyz", ["tiger"])
    ''
    """
    by_lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(by_lower), n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""
