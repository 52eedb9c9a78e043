# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: checks of operands, and types requested by attributes."""

from __future__ import annotations

from collections.abc import Callable

from ...core.infos import is_bool, is_float, is_int
from ...core.opdef import Call
from ...core.symbols import Dim

ELEMENT_CLASSES: dict[str, Callable[[str], bool]] = {"float": is_float, "int": is_int, "bool": is_bool}
ANY = tuple(ELEMENT_CLASSES)


def check_dtype(call: Call, name: str, *classes: str) -> None:
    """Raise OpProblem unless the element type is in one of the classes ("float", "int", "bool")."""
    dtype = call.operands[name].dtype
    if not any(ELEMENT_CLASSES[cls](dtype) for cls in classes):
        raise call.fail(f"{call.describe(name)} must have {' or '.join(classes)} elements")


def check_same_dtype(call: Call, *names: str) -> None:
    """Raise OpProblem for operands with different element types."""
    first = call.operands[names[0]]
    for name in names[1:]:
        if call.operands[name].dtype != first.dtype:
            raise call.fail(f"{call.describe(names[0])} and {call.describe(name)} must have the same element type")


def asked_dtype(call: Call, name: str, default: str, *classes: str) -> str:
    """Return the element type in an attribute, or `default` if absent.

    Raise OpProblem unless it is in one of the classes.
    """
    if (dtype := call.attributes[name]) is None:
        return default
    if not any(ELEMENT_CLASSES[cls](dtype) for cls in classes):
        raise call.fail(f"{call.describe(name)} must be a {' or '.join(classes)} type")
    return dtype


# ---- scalar operands: their values are known if a constant or a symbolic expression defines them ----


def check_number(call: Call, *names: str) -> None:
    """Raise OpProblem for scalar operands that are neither integers nor floats."""
    for name in names:
        dtype = call.operands[name].dtype
        call.require(is_int(dtype) or is_float(dtype), f"{call.describe(name)} must be an integer or a float")


def check_flag(call: Call, *names: str) -> None:
    """Raise OpProblem for scalar operands that are neither booleans nor integers."""
    for name in names:
        dtype = call.operands[name].dtype
        call.require(is_bool(dtype) or is_int(dtype), f"{call.describe(name)} must be a boolean")


def integer(call: Call, name: str) -> Dim:
    """Return the value of an integer operand, or None if it is unknown or the operand is absent."""
    if (info := call.operands[name]) is None:
        return None
    call.require(is_int(info.dtype), f"{call.describe(name)} must be an integer")
    return info.value


def size(call: Call, name: str) -> Dim:
    """Return the value of an integer operand that is a size. Raise OpProblem for a negative size."""
    if isinstance(value := integer(call, name), int) and value < 0:
        raise call.fail(f"operand '{name}' is a size and cannot be {value}")
    return value


def constant_flag(call: Call, name: str, reason: str) -> bool:
    """Return the value of a flag that inference needs. `reason` explains the need in the error message."""
    check_flag(call, name)
    if not isinstance(value := call.operands[name].value, int):
        raise call.fail(f"{call.describe(name)} must be a constant: {reason}")
    return bool(value)
