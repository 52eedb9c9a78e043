# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: what an operand may have, what an attribute asks for."""

from __future__ import annotations

from collections.abc import Callable

from ...core.infos import TensorInfo, bit_width, is_bool, is_float, is_int
from ...core.opdef import Call

ELEMENT_CLASSES: dict[str, Callable[[str], bool]] = {"float": is_float, "int": is_int, "bool": is_bool}
ANY = tuple(ELEMENT_CLASSES)


def check_dtype(call: Call, name: str, *classes: str) -> None:
    """Refuses an operand whose element type is in none of the classes ("float", "int", "bool")."""
    dtype = call.operands[name].dtype
    if not any(ELEMENT_CLASSES[cls](dtype) for cls in classes):
        raise call.fail(f"{call.describe(name)} must have {' or '.join(classes)} elements")


def check_same_dtype(call: Call, *names: str) -> None:
    """Refuses operands with different element types."""
    first = call.operands[names[0]]
    for name in names[1:]:
        if call.operands[name].dtype != first.dtype:
            raise call.fail(f"{call.describe(names[0])} and {call.describe(name)} must have the same element type")


def asked_dtype(call: Call, name: str, default: str, *classes: str) -> str:
    """The element type in an attribute, `default` where it is absent. Refuses one in none of the classes."""
    dtype = call.attributes[name]
    if dtype is None:
        return default
    if not any(ELEMENT_CLASSES[cls](dtype) for cls in classes):
        raise call.fail(f"{call.describe(name)} must be a {' or '.join(classes)} type")
    return dtype


def astype(call: Call) -> TensorInfo:
    return call.x.with_dtype(asked_dtype(call, "dtype", call.x.dtype, *ANY))


def bitcast(call: Call) -> TensorInfo:
    dtype = asked_dtype(call, "dtype", call.x.dtype, *ANY)
    check_dtype(call, "x", *ANY)
    own, asked = _stored_bits(call.x.dtype), _stored_bits(dtype)
    if own != asked:
        raise call.fail(
            f"{call.describe('dtype')} has {asked} bits and {call.describe('x')} {own}: bits stay as many as they are"
        )
    return call.x.with_dtype(dtype)


def _stored_bits(dtype: str) -> int:
    """A bool is a byte."""
    return 8 if is_bool(dtype) else bit_width(dtype)
