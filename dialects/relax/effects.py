# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with side effects."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

from ..core.attributes import Str
from ..core.infos import Info, ScalarInfo, TensorInfo, is_bool
from ..core.opdef import Call
from .dialect import op


def assertion(call: Call) -> Sequence[Info]:
    condition = call.condition
    single = isinstance(condition, ScalarInfo) or (isinstance(condition, TensorInfo) and condition.rank in (0, None))
    if not single or not is_bool(condition.dtype):
        raise call.fail(f"{call.describe('condition')} must be a bool, as a scalar or as a 0-D tensor")
    _check_format(call, len(call.format_args))
    kind = getattr(builtins, call.kind, None)
    is_exception = isinstance(kind, type) and issubclass(kind, Exception)
    call.require(is_exception, f"attribute 'kind' ({call.kind!r}) must name an exception of Python")
    return []


def printing(call: Call) -> Sequence[Info]:
    _check_format(call, len(call.values))
    return []


def _check_format(call: Call, count: int) -> None:
    """Raise OpProblem for a format string whose fields do not match the values."""
    shown = f"attribute 'format' ({call.format!r})"
    try:
        fields = list(_fields(call.format))
        needed = max((int(field) + 1 for field in fields if field.isdecimal()), default=len(fields))
    except ValueError as error:
        raise call.fail(f"{shown} is no format string: {error}") from None
    if not all(field == "" or field.isdecimal() for field in fields):
        raise call.fail(f"{shown}: fields are {{}} or a value's number, as {{0}}")
    if "" in fields and any(fields):
        raise call.fail(f"{shown}: fields are numbered either all or none")
    call.require(needed <= count, f"{shown} needs {needed} values, got {count}")


def _fields(text: str, nesting: int = 2) -> Iterator[str]:
    """Yield the replacement fields, including those inside format specifications."""
    from string import Formatter

    if not nesting:
        raise ValueError("fields nest too deep")
    for _, field, specification, _ in Formatter().parse(text):
        if field is not None:
            yield field
            yield from _fields(specification, nesting - 1) if specification and "{" in specification else ()


op("assert_op", "condition:any *format_args:any",
   attrs={"format": Str("", doc="message, in the syntax of str.format"),
          "kind": Str("AssertionError", doc="name of a Python exception")},
   results="", infer=assertion, role="effect", pure=False,
   doc="Raises an exception if the condition is False.")  # fmt: skip
op("print", "*values:any", attrs={"format": Str("", doc="text in the syntax of str.format; empty: the values")},
   results="", infer=printing, role="effect", pure=False, doc="Prints values.")  # fmt: skip
# Not pure: each use is a separate key.
op("random_key", infer=lambda call: ScalarInfo("i64"), role="effect", pure=False, own=True,
   doc="Seed for random numbers: 0, 1, 2, ... at successive calls in a loaded program.")  # fmt: skip
