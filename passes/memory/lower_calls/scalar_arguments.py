# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars between functions: parameters are i1, i64, f64 or index, which all kinds of callers support."""

from __future__ import annotations

from ....bindings.ir import Context, Type, Value
from ....bindings.mlir import ir
from ....dialects.core.infos import ScalarInfo, bit_width, is_float
from ....emit.conversions import to_float
from ....emit.numbers import number


def passed_type(info: ScalarInfo, context: Context) -> Type:
    """Return the parameter type for a scalar."""
    if info.dtype in ("i1", "index"):
        return ir.Type.parse(info.dtype, context)
    return ir.Type.parse("f64" if is_float(info.dtype) else "i64", context)


def pass_scalar(value: Value, info: ScalarInfo) -> Value:
    """Convert a scalar to its parameter type."""
    type_ = passed_type(info, value.context)
    if value.type == type_:
        return value
    if is_float(info.dtype):
        return to_float(number(value), "f64").value
    return number(value).of(info.dtype).to("i64").value


def receive(value: Value, info: ScalarInfo) -> Value:
    """Convert a parameter to the signless scalar type of the code."""
    if is_float(info.dtype):
        return to_float(number(value), info.dtype).value
    if info.dtype in ("i1", "index") or bit_width(info.dtype) == 64:
        return value
    return number(value).to(info.dtype).value
