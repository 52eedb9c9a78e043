# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar operands: numbers whose value is known where a constant or a symbolic expression defines them."""

from __future__ import annotations

from ...core.infos import is_bool, is_float, is_int
from ...core.opdef import Call
from ...core.symbols import Dim


def check_number(call: Call, *names: str) -> None:
    """Refuses scalar operands that are neither integers nor floats."""
    for name in names:
        dtype = call.operands[name].dtype
        call.require(is_int(dtype) or is_float(dtype), f"{call.describe(name)} must be an integer or a float")


def check_flag(call: Call, *names: str) -> None:
    """Refuses scalar operands that are neither booleans nor integers."""
    for name in names:
        dtype = call.operands[name].dtype
        call.require(is_bool(dtype) or is_int(dtype), f"{call.describe(name)} must be a boolean")


def integer(call: Call, name: str) -> Dim:
    """The value of an integer operand as far as it is known; also where the operand is absent it is not."""
    info = call.operands[name]
    if info is None:
        return None
    call.require(is_int(info.dtype), f"{call.describe(name)} must be an integer")
    return info.value


def size(call: Call, name: str) -> Dim:
    """The value of an integer operand that is a size: not negative."""
    value = integer(call, name)
    if isinstance(value, int) and value < 0:
        raise call.fail(f"operand '{name}' is a size and cannot be {value}")
    return value


def constant_flag(call: Call, name: str, reason: str) -> bool:
    """The value of a flag that inference needs. `reason` says what depends on it."""
    check_flag(call, name)
    value = call.operands[name].value
    if not isinstance(value, int):
        raise call.fail(f"{call.describe(name)} must be a constant: {reason}")
    return bool(value)
