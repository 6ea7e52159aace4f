"""Handing large named tuples to compiled functions by reference.

numba takes a tuple apart when it is handed to a function: a search has some eighty arrays of eight numbers each, and
every call copied them all. `by_reference` puts a tuple into memory once; what it returns is read as the tuple is
(``s.strips.hi``), but is handed on as one pointer, and so are the tuples in it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

_Tuple = TypeVar("_Tuple")

_types: Any = import_module("numba.core.types")
_cgutils: Any = import_module("numba.core.cgutils")
_extending: Any = import_module("numba.extending")
_imputils: Any = import_module("numba.core.imputils")
_templates: Any = import_module("numba.core.typing.templates")


def by_reference(value: _Tuple) -> _Tuple:
    """A named tuple that compiled functions hand on as one pointer; it lives as long as the calling function runs."""
    return value


class _Reference(_types.Type):  # type: ignore[misc]  # numba is untyped, here and below
    """The type of a reference to a named tuple."""

    def __init__(self, held: Any) -> None:
        self.held = held
        super().__init__(name=f"reference({held.name})")


@_extending.register_model(_Reference)
class _ReferenceModel(_extending.models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to the values of the tuple."""

    def __init__(self, models: Any, reference: _Reference) -> None:
        super().__init__(models, reference, models.lookup(reference.held).get_value_type().as_pointer())


@_extending.type_callable(by_reference)  # type: ignore[untyped-decorator]
def _typed(_context: Any) -> Any:
    def reference(value: Any) -> Any:
        return _Reference(value) if isinstance(value, _types.BaseNamedTuple) else None

    return reference


@_extending.lower_builtin(by_reference, _types.BaseNamedTuple)  # type: ignore[untyped-decorator]
def _stored(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
    return _cgutils.alloca_once_value(builder, values[0])


def _field(reference: _Reference, name: str) -> tuple[int, Any]:
    """The place and the type of a field; tuples in a tuple are references too."""
    place = reference.held.fields.index(name)
    held = reference.held.types[place]
    return place, _Reference(held) if isinstance(held, _types.BaseNamedTuple) else held


@_extending.infer_getattr
class _Fields(_templates.AttributeTemplate):  # type: ignore[misc]
    key = _Reference

    def generic_resolve(self, reference: _Reference, name: str) -> Any:
        """The type of a field."""
        return _field(reference, name)[1]


@_extending.lower_getattr_generic(_Reference)  # type: ignore[untyped-decorator]
def _load(context: Any, builder: Any, reference: _Reference, pointer: Any, name: str) -> Any:
    place, found = _field(reference, name)
    at = _cgutils.gep_inbounds(builder, pointer, 0, place)
    value = at if isinstance(found, _Reference) else builder.load(at)
    return _imputils.impl_ret_borrowed(context, builder, found, value)
