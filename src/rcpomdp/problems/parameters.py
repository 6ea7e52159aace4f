"""Values of a problem's parameters: read from the command line, and held against a builder's annotations."""

from __future__ import annotations

import ast
import re
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin


def parse(text: str) -> Any:
    """The value that a "key=value" argument means: a number, true, false, none, a tuple, or else text.

    >>> [parse(text) for text in ("7", "0.8", "true", "none", "1,1", "(1,1),(3,3)", "left")]
    [7, 0.8, True, None, (1, 1), ((1, 1), (3, 3)), 'left']
    """
    word = text.strip()
    constants = {"true": True, "false": False, "none": None}
    if word.lower() in constants:
        return constants[word.lower()]
    for kind in (int, float):  # float also knows "inf"
        try:
            return kind(word)
        except ValueError:
            pass
    if re.fullmatch(r"[-+\d.eE,()\[\]\s]+", word):
        try:
            return ast.literal_eval(word)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            pass
    return word


_NOUNS = {
    float: ("a number", "numbers"),
    int: ("a whole number", "whole numbers"),
    bool: ("true or false", "truth values"),
    str: ("text", "texts"),
    NoneType: ("None", "Nones"),
}


def fits(value: Any, annotation: Any) -> bool:
    """Return whether a value is what an annotation asks for; annotations of no known kind ask for nothing."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in {Union, UnionType}:
        return any(fits(value, choice) for choice in args)
    if origin is tuple and args:
        if not isinstance(value, tuple | list):
            return False
        kinds = (args[0],) * len(value) if args[-1] is Ellipsis else args
        return len(kinds) == len(value) and all(map(fits, value, kinds))
    if annotation in {int, float}:
        return isinstance(value, Integral if annotation is int else Real) and not isinstance(value, bool)
    if annotation in _NOUNS:
        return isinstance(value, annotation)
    return True


def noun(annotation: Any, plural: bool = False) -> str:
    """The noun for the values that an annotation asks for."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in {Union, UnionType}:
        return " or ".join(noun(choice, plural) for choice in args)
    if origin is tuple and args:
        shape = "sequence" if args[-1] is Ellipsis else "pair" if len(args) == 2 else f"{len(args)}-tuple"
        kinds = dict.fromkeys(noun(kind, plural=True) for kind in args if kind is not Ellipsis)
        return f"{shape + 's' if plural else 'a ' + shape} of {' and '.join(kinds)}"
    return _NOUNS.get(annotation, ("a value", "values"))[plural]
