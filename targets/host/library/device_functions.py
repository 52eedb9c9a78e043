# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of the functions by which programs use a kind of device, from host functions of a plug-in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, get_args

from ....support.errors import ModelError
from ..native.language import NULL, I32, Array, Function, Ptr, function_table, library_function, local_function
from ..native.types import fields_of, llvm_type, type_name
from .device import DeviceTable, device_nothing
from .prelude import INT, OK, AnyValue

_NAMES = list(fields_of(DeviceTable))
#: Names of the table's functions, in their order.
_FUNCTIONS = _NAMES[_NAMES.index("push_context") : _NAMES.index("destroy_event") + 1]
#: Table that `answer` returns, for each kind another one.
functions: Array[Ptr] = NULL


def device_functions(
    kind: str, *own: Any, allocate: Any, free: Any, write: Any, read: Any, copy: Any, wait: Any, **others: Any
) -> Function[[Ptr, Ptr, I32, AnyValue], I32]:
    """Return the library function of a kind's table, to be assigned to `KIND_functions` in the module of the kind.

    The table has host functions by the fields of DeviceTable, then `own`, for the kind itself. A function may omit last
    parameters. By default entering the device does nothing, `wait_for_all` is `wait`, the host's clock measures times,
    and there are no launches. Raise ModelError for a wrong type, with its place.
    """
    chosen = {
        "push_context": device_nothing, "pop_context": device_nothing, "allocate": allocate, "free": free,
        "write": write, "read": read, "copy": copy, "wait": wait, "wait_for_all": wait, **others,
    }  # fmt: skip
    if unknown := sorted({*chosen} - {*_FUNCTIONS}):
        raise ModelError(f"device functions: '{unknown[0]}' is none of {', '.join(_FUNCTIONS)}")
    for name, function in chosen.items():
        _check(name, function)
    table = function_table(*(chosen.get(name, NULL) for name in _FUNCTIONS), *own)
    python = FunctionType(answer.python.__code__, {**globals(), "functions": table}, f"{kind}_functions")
    python.__annotations__ = answer.python.__annotations__
    python.__module__ = sys._getframe(1).f_globals["__name__"]
    return library_function(python)


@local_function
def answer(table: Ptr, arguments: Ptr, count: I32, result: AnyValue) -> I32:
    """Return the address of the table."""
    result.whole_kind = INT
    result.address = functions
    return OK


def _check(name: str, function: object) -> None:
    type_ = fields_of(DeviceTable)[name].type
    if not isinstance(function, Function):
        raise ModelError(f"device functions: {name}={function!r}: expected a host function, {type_name(type_)}")
    expected, result = get_args(type_)
    inputs, actual, _ = function.signature
    forms = [*map(llvm_type, inputs)]
    if forms != [*map(llvm_type, expected)][: len(forms)] or llvm_type(actual) != llvm_type(result):
        own = type_name(Callable[inputs, actual])
        raise function.refuse(f"'{name}' of a device is {type_name(type_)}, got {own}")
