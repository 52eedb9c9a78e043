# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse: as ONNX's own where types are as it wants them, else step by step. All in f32."""

from __future__ import annotations

from .....dialects.core.infos import bit_width, is_float, is_unsigned
from .....dialects.core.symbols import equal
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import exports


def _is_single(op: ExportedOp, name: str) -> bool:
    shape = op.shape(name)
    return not shape or equal(shape[0], 1) is True


def _parameters(op: ExportedOp) -> tuple[Ref, Ref]:
    """Scale and zero point, both single or both along the axis."""
    found = [op.reshape(op[name], []) if _is_single(op, name) else op[name] for name in ("scale", "zero_point")]
    single = [_is_single(op, name) for name in ("scale", "zero_point")]
    if any(single) and not all(single):
        other = found[single.index(False)]
        place = single.index(True)
        found[place] = op.node("Expand", found[place], op.node("Shape", other))
    return found[0], found[1]


def _spread(op: ExportedOp, name: str, dtype: str) -> Ref:
    """A parameter under the data's elements that it is for."""
    tensor = op.cast(op[name], dtype)
    if _is_single(op, name):
        return op.reshape(tensor, [])
    return op.along(tensor, op.axis_of("data", op.axis), op.rank("data"))


@exports("relax.quantize")
def quantize(op: ExportedOp) -> Ref:
    data, dtype, zero_point = op.cast(op["data"], "f32"), op.result().dtype, op.dtype("zero_point")
    if zero_point == dtype:
        scale, offset = _parameters(op)
        axis = op.axis_of("data", op.axis) if op.rank("data") else None
        return op.node("QuantizeLinear", data, op.cast(scale, "f32"), offset, axis=axis)
    if is_float(dtype):
        raise op.fail(f"ONNX quantizes to {dtype} with a zero point of that type only")
    quotient = op.node("Round", op.node("Div", data, _spread(op, "scale", "f32")))
    total = op.node("Add", quotient, _spread(op, "zero_point", "f32"))
    bits = bit_width(dtype) - (0 if is_unsigned(dtype) else 1)
    least = 0 if is_unsigned(dtype) else -(2**bits)
    return op.cast(op.node("Clip", total, op.number(least, "f32"), op.number(2**bits - 1, "f32")), dtype)


@exports("relax.dequantize")
def dequantize(op: ExportedOp) -> Ref:
    dtype, target = op.dtype("data"), op.result().dtype
    is_usual = not (is_float(dtype) and bit_width(dtype) > 8) and bit_width(dtype) <= 16
    if op.dtype("zero_point") == dtype and is_usual:
        scale, offset = _parameters(op)
        axis = op.axis_of("data", op.axis) if op.rank("data") else None
        operands = op["data"], op.cast(scale, "f32"), offset
        return op.cast(op.node("DequantizeLinear", *operands, axis=axis, result="f32"), target)
    wide = "f32" if is_float(dtype) or is_float(op.dtype("zero_point")) else "i64"
    difference = op.node("Sub", op.cast(op["data"], wide), _spread(op, "zero_point", wide))
    return op.cast(op.node("Mul", op.cast(difference, "f32"), _spread(op, "scale", "f32")), target)
