# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of quantize and dequantize: ONNX's operator if the types fit, else single steps in f32."""

from __future__ import annotations

from .....dialects.core.infos import TensorInfo, bit_width, is_float, is_unsigned
from .....dialects.core.symbols import equal
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import exports

_PARAMETERS = ("scale", "zero_point")
#: Type of the scales of MX blocks.
_POWERS = "f8E8M0FNU"


def _is_single(op: ExportedOp, name: str) -> bool:
    shape = op.shape(name)
    return not shape or equal(shape[0], 1) is True


def has_single_parameters(op: ExportedOp) -> bool:
    """Check whether the scale and the zero point are one number each."""
    return all(_is_single(op, name) for name in _PARAMETERS)


def _parameters(op: ExportedOp) -> tuple[Ref, Ref]:
    """Return scale and zero point, either both single or both along the axis."""
    found = [_parameter(op, name) for name in _PARAMETERS]
    single = [_is_single(op, name) for name in _PARAMETERS]
    if any(single) and not all(single):
        other = found[single.index(False)]
        place = single.index(True)
        numbers, size = op.numbers(_PARAMETERS[place]), op.shape(_PARAMETERS[1 - place])[0]
        if numbers is None or not isinstance(size, int):
            found[place] = op.node("Expand", found[place], op.node("Shape", other))
        else:
            found[place] = op.const(numbers.reshape(-1).repeat(size), op.dtype(_PARAMETERS[place]))
    return found[0], found[1]


def _parameter(op: ExportedOp, name: str) -> Ref:
    """Return a parameter, a single one as a 0-D tensor. Equal scales share a tensor."""
    numbers, dtype = op.numbers(name), op.dtype(name)
    shape = () if _is_single(op, name) else (-1,)
    if numbers is not None and dtype == "i8":
        # onnxruntime replaces zero points by unsigned ones, once per node (session.x64quantprecision).
        array = numbers.reshape(shape).astype("int8")
        return op.graph.constant(array, TensorInfo(array.shape, dtype))
    if numbers is not None:
        # f32 represents all powers of two, and each opset takes such scales.
        return op.const(numbers.reshape(shape), "f32" if dtype == _POWERS else dtype)
    return op[name] if shape or not op.rank(name) else op.reshape(op[name], [])


def _broadcast_parameter(op: ExportedOp, name: str, dtype: str) -> Ref:
    """Reshape a parameter so that it broadcasts with the data's elements."""
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
        raise op.fail(f"ONNX quantizes to {dtype} only with a zero point of that type")
    quotient = op.node("Round", op.node("Div", data, _broadcast_parameter(op, "scale", "f32")))
    total = op.node("Add", quotient, _broadcast_parameter(op, "zero_point", "f32"))
    bits = bit_width(dtype) - (0 if is_unsigned(dtype) else 1)
    least = 0 if is_unsigned(dtype) else -(2**bits)
    return op.cast(op.node("Clip", total, op.number(least, "f32"), op.number(2**bits - 1, "f32")), dtype)


@exports("relax.dequantize")
def dequantize(op: ExportedOp) -> Ref:
    return dequantize_as(op, op["data"], op.axis_of("data", op.axis) if op.rank("data") else None)


def dequantize_as(op: ExportedOp, data: Ref, axis: int | None) -> Ref:
    """Export a dequantize of these integers, which may have another shape than the operand."""
    dtype, target = op.dtype("data"), op.result().dtype
    if has_linear_form(op):
        scale, offset = _parameters(op)
        made = op.node("DequantizeLinear", data, op.cast(scale, "f32"), offset, axis=axis, result="f32")
        return op.cast(made, target)
    wide = "f32" if is_float(dtype) or is_float(op.dtype("zero_point")) else "i64"
    difference = op.node("Sub", op.cast(data, wide), _broadcast_parameter(op, "zero_point", wide))
    return op.cast(op.node("Mul", op.cast(difference, "f32"), _broadcast_parameter(op, "scale", "f32")), target)


def has_linear_form(op: ExportedOp) -> bool:
    """Check whether DequantizeLinear takes the operands. It takes i32 with zero points of 0 only."""
    dtype = op.dtype("data")
    if op.dtype("zero_point") != dtype:
        return False
    if dtype == "i32":
        zeros = op.elements("zero_point")
        return zeros is not None and not zeros.any()
    return not (is_float(dtype) and bit_width(dtype) > 8) and bit_width(dtype) <= 16
