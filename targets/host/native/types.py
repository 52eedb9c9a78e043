# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types of host functions: their form in the LLVM dialect, their names in messages, and the layout of structs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from .language import F32, I8, I32, U32, U64, Array, FixedNumber, Ptr, Status, Struct

_LLVM = {int: "i64", bool: "i1", float: "f64", I8: "i8", I32: "i32", U32: "i32", U64: "i64", F32: "f32", Status: "i32"}
_SIZES = {"i64": 8, "i1": 1, "f64": 8, "i8": 1, "i32": 4, "f32": 4, "!llvm.ptr": 8}
FLOATS, UNSIGNED = (float, F32), (U32, U64)
_NAMES = {int: "I64", float: "F64", str: "Text", None: "no value", NoneType: "NULL"}


class Field(NamedTuple):
    """Field of a struct. `is_inside` is True for elements in the struct itself."""

    type: Any
    offset: int
    size: int
    alignment: int
    is_inside: bool = False


def llvm_type(type_: Any) -> str:
    """Return the form of a value, "" for no value."""
    if get_origin(type_) is tuple:
        return f"!llvm.struct<({', '.join(map(llvm_type, get_args(type_)))})>"
    return "" if type_ is None else _LLVM.get(type_, "!llvm.ptr")


def is_pointer(type_: Any) -> bool:
    return type_ is not None and llvm_type(type_) == "!llvm.ptr"


def is_struct(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Struct)


def is_value_type(type_: Any) -> bool:
    """Check whether variables may have the type."""
    if get_origin(type_) in (tuple, Callable, get_origin(Callable[[], int]), Array):
        return True
    return isinstance(type_, type) and (type_ in _LLVM or type_ is str or issubclass(type_, (Ptr, FixedNumber)))


def fits(actual: Any, expected: Any) -> bool:
    """Check whether a value has a type, or a pointer is a case of it."""
    if actual == expected or (actual is NoneType and is_pointer(expected)):
        return True
    plain = get_origin(actual) or actual
    return (
        isinstance(expected, type) and is_pointer(expected) and isinstance(plain, type) and issubclass(plain, expected)
    )


def type_name(type_: Any) -> str:
    """Return the name of a type as sources have it."""
    if arguments := get_args(type_):
        listed = (
            f"[{', '.join(map(type_name, item))}]" if isinstance(item, list) else type_name(item) for item in arguments
        )
        return f"{getattr(get_origin(type_), '__name__', 'Callable')}[{', '.join(listed)}]"
    return _NAMES.get(type_) or str(getattr(type_, "__name__", type_))


def element_form(element: Any) -> str:
    """Return the form of an element in memory: words for a struct, which optimizations take apart."""
    if not is_struct(element):
        return llvm_type(element)
    words, rest = divmod(size_of(element), 8)
    return (
        f"!llvm.array<{size_of(element)} x i8>"
        if rest or words > 16
        else f"!llvm.struct<({', '.join(['i64'] * words)})>"
    )


def size_of(element: Any) -> int:
    """Return the bytes of an element in memory."""
    if not is_struct(element):
        return _SIZES[llvm_type(element)]
    fields = fields_of(element).values()
    alignment = max((field.alignment for field in fields), default=1)
    return -(-max((field.offset + field.size for field in fields), default=0) // alignment) * alignment


@lru_cache(maxsize=256)
def fields_of(struct: Any) -> dict[str, Field]:
    """Return the fields of a struct with C's layout."""
    fields: dict[str, Field] = {}
    end = 0
    for name, hint in get_type_hints(struct, include_extras=True).items():
        type_, note = get_args(hint) if get_origin(hint) is Annotated else (hint, None)
        size = alignment = _SIZES[llvm_type(type_)]
        if isinstance(note, int):
            element = get_args(type_)[0] if get_origin(type_) is Array else type_
            size, alignment = note * size_of(element), 8 if is_struct(element) else size_of(element)
        offset = fields[note].offset if isinstance(note, str) else -(-end // alignment) * alignment
        fields[name] = Field(type_, offset, size, alignment, isinstance(note, int))
        end = max(end, offset + size)
    return fields
