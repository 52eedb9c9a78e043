# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar operands: numbers whose value inference knows where a constant or a symbolic expression defines them."""

from __future__ import annotations

from typing import Any

from ...core.infos import is_bool, is_float, is_int
from ...core.opdef import Call
from ...core.symbols import Dim


def check_number(call: Call, *names: str) -> None:
    """Refuses scalar operands that are neither integers nor floats; absent ones are fine."""
    for name in names:
        info = call.operands[name]
        if info is not None and not (is_int(info.dtype) or is_float(info.dtype)):
            raise call.fail(f"{call.describe(name)} must be an integer or a float")


def integer(call: Call, name: str, default: Dim = None) -> Dim:
    """The value of an integer operand as far as it is known, `default` where the operand is absent."""
    info = call.operands[name]
    if info is None:
        return default
    if not is_int(info.dtype):
        raise call.fail(f"{call.describe(name)} must be an integer")
    return info.value


def size(call: Call, name: str, default: Dim = None) -> Dim:
    """The value of an integer operand that is a size: not negative."""
    value = integer(call, name, default)
    if isinstance(value, int) and value < 0:
        raise call.fail(f"operand '{name}' is a size and cannot be {value}")
    return value


def check_flag(call: Call, name: str) -> None:
    """Refuses a scalar operand that is neither a boolean nor an integer."""
    info = call.operands[name]
    if info is not None and not (is_bool(info.dtype) or is_int(info.dtype)):
        raise call.fail(f"{call.describe(name)} must be a boolean")


def constant_flag(call: Call, name: str, default: bool, reason: str) -> bool:
    """The value of a flag that inference needs. `reason` says what depends on it."""
    check_flag(call, name)
    info = call.operands[name]
    if info is None:
        return default
    value: Any = info.value
    if not isinstance(value, int):
        raise call.fail(f"{call.describe(name)} must be a constant: {reason}")
    return bool(value)
