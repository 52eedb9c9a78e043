# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalars between functions: lowered graph functions take i1, i64, f64 and index, which callers of any kind have."""

from __future__ import annotations

from ...bindings.ir import Context, Type, Value
from ...bindings.mlir import ir
from ...dialects.core.infos import ScalarInfo, bit_width, is_float
from ...emit.conversions import to_float
from ...emit.numbers import number


def passed_type(info: ScalarInfo, context: Context) -> Type:
    """The type of a parameter for such scalars."""
    if info.dtype in ("i1", "index"):
        return ir.Type.parse(info.dtype, context)
    return ir.Type.parse("f64" if is_float(info.dtype) else "i64", context)


def passed(value: Value, info: ScalarInfo) -> Value:
    """A scalar as a parameter has it."""
    type_ = passed_type(info, value.context)
    if value.type == type_:
        return value
    if is_float(info.dtype):
        return to_float(number(value), "f64").value
    return number(value).of(info.dtype).to("i64").value


def received(value: Value, info: ScalarInfo) -> Value:
    """The scalar that a parameter stands for; without a sign, as all scalars in code."""
    if is_float(info.dtype):
        return to_float(number(value), info.dtype).value
    if info.dtype in ("i1", "index") or bit_width(info.dtype) == 64:
        return value
    return number(value).to(info.dtype).value
