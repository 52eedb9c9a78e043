# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expected results of the machine, to the bit: operators in NumPy, with sums in the order of data_sheet.md.

The file shares no code with the simulator. `evaluate(module, *inputs)` takes a graph after the stage "layouts".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy

import relax_mlir as rx

F32, I32 = numpy.float32, numpy.int32
TYPES = {"f32": F32, "i8": numpy.int8, "i32": I32, "bf16": ml_dtypes.bfloat16, "i16": numpy.int16}
Array = numpy.ndarray


def evaluate(module: Any, *inputs: Array) -> list[Array]:
    """Return the results of @main."""
    (main,) = [op for op in module.body.operations if op.attributes["sym_name"].value == "main"]
    (block,) = main.regions[0].blocks
    values: dict[Any, Any] = dict(zip(block.arguments, inputs, strict=True))
    for view in block.operations:
        name, op = view.operation.name, view.operation
        if name == "func.return":
            return [values[each] for each in op.operands]
        if name == "arith.constant":
            type_ = op.result.type
            element = str(type_.element_type)
            values[op.result] = rx.array_of_attribute(op.attributes["value"], element, tuple(type_.shape))
        elif name != "relax.shape_expr":
            if name not in OPERATORS:
                raise rx.RelaxError(f"the reference has no {name}: add it to OPERATORS")
            given = [values[each] for each in op.operands if each in values]
            values[op.result] = OPERATORS[name](view, *given)
    raise AssertionError("a function returns")


def _shape(op: Any) -> tuple[int, ...]:
    return tuple(op.result.type.shape)


def _type(op: Any) -> Any:
    return TYPES[str(op.result.type.element_type)]


# ---- products: added in sequence along the contracted dimension ----


def matmul(op: Any, x: Array, y: Array) -> Array:
    total = _type(op)
    if total is I32:
        return x.astype(I32) @ y.astype(I32)
    left, right = x.astype(F32), y.astype(F32)
    sums = numpy.zeros(_shape(op), F32)
    for k in range(left.shape[-1]):
        sums += left[..., :, k : k + 1] * right[..., k : k + 1, :]
    return sums


def conv2d(op: Any, x: Array, weight: Array) -> Array:
    (sy, sx), (dy, dx) = op.strides, op.dilation
    top, left, bottom, right = op.padding if len(op.padding) == 4 else (*op.padding, *op.padding)
    data = numpy.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0))).astype(I32)
    n, height, width, channels = _shape(op)
    sums = numpy.zeros((n * height * width, channels), I32)
    for r in range(weight.shape[0]):
        for s in range(weight.shape[1]):
            rows = slice(r * dy, r * dy + (height - 1) * sy + 1, sy)
            columns = slice(s * dx, s * dx + (width - 1) * sx + 1, sx)
            sums += data[:, rows, columns].reshape(-1, weight.shape[2]) @ weight[r, s].astype(I32)
    return sums.reshape(n, height, width, channels)


# ---- rows: 64 lanes, then by halves ----


def row_sums(x: Array) -> Array:
    """Sum along the last axis: lane l has the elements l, l + 64, ...; lanes are added by halves, l and l + half."""
    lanes = numpy.zeros((*x.shape[:-1], 64), F32)
    for start in range(0, x.shape[-1], 64):
        part = x[..., start : start + 64]
        lanes[..., : part.shape[-1]] += part
    for half in (32, 16, 8, 4, 2, 1):
        lanes = lanes[..., :half] + lanes[..., half : 2 * half]
    return lanes[..., 0]


def exactly(function: Callable[[Array], Array], x: Array) -> Array:
    """Return the function's result in f64, rounded once."""
    return function(x.astype(numpy.float64)).astype(F32)


def softmax(op: Any, x: Array) -> Array:
    powers = exactly(numpy.exp, x - x.max(-1, keepdims=True))
    return powers * exactly(lambda total: 1 / total, row_sums(powers))[..., None]


def rms_norm(op: Any, x: Array, weight: Array) -> Array:
    means = row_sums(x * x) * F32(1 / x.shape[-1]) + F32(op.epsilon)
    return x * exactly(lambda mean: 1 / numpy.sqrt(mean), means)[..., None] * weight


def silu(op: Any, x: Array) -> Array:
    return x * exactly(lambda one: 1 / one, exactly(numpy.exp, F32(0) - x) + F32(1))


def mean(op: Any, x: Array) -> Array:
    """Return the mean of pictures along height and width. Pixels form the rows."""
    n, height, width, channels = x.shape
    pixels = numpy.moveaxis(x.reshape(n, height * width, channels), 1, 2)
    return (row_sums(pixels) * F32(1 / (height * width))).reshape(_shape(op))


# ---- other operators ----


def quantize(op: Any, x: Array, scale: Array, zero: Array) -> Array:
    return (numpy.rint(x / scale) + zero.astype(F32)).clip(-128, 127).astype(numpy.int8)


def dequantize(op: Any, x: Array, scale: Array, zero: Array) -> Array:
    return (x.astype(I32) - zero.astype(I32)).astype(F32) * scale


def requantize(op: Any, sums: Array, multiplier: Array, shift: Array, zero: Array) -> Array:
    spelled = {"float": "float", "q31": "q31>>shift", "q15": "q15>>shift", "power_of_two": "power_of_two"}
    how = rx.Requantize(spelled[op.form], op.rounding, op.saturate, op.double_rounding)
    parameters = how.parameters(1.0)._replace(multiplier=multiplier, shift=shift)
    return how.apply(sums, parameters, zero, str(op.result.type.element_type), axis=op.axis)


def strided_slice(op: Any, x: Array) -> Array:
    index = [slice(None)] * x.ndim
    for axis, begin, end in zip(op.axes, op.begin, op.end, strict=True):
        index[axis] = slice(begin, end)
    return x[tuple(index)]


OPERATORS: dict[str, Callable[..., Array]] = {
    "relax.matmul": matmul,
    "relax.nn.conv2d": conv2d,
    "relax.nn.softmax": softmax,
    "relax.nn.rms_norm": rms_norm,
    "relax.nn.silu": silu,
    "relax.mean": mean,
    "relax.quantize": quantize,
    "relax.dequantize": dequantize,
    "relax.requantize": requantize,
    "relax.maximum": lambda op, x, y: numpy.maximum(x, y),
    "relax.strided_slice": strided_slice,
    "relax.add": lambda op, x, y: x + y,
    "relax.multiply": lambda op, x, y: x * y,
    "relax.negative": lambda op, x: -x,
    "relax.nn.relu": lambda op, x: numpy.maximum(x, x.dtype.type(0)),
    "relax.astype": lambda op, x: x.astype(_type(op)),
    "relax.reshape": lambda op, x: x.reshape(_shape(op)),
    "relax.permute_dims": lambda op, x: x.transpose(op.axes),
    "relax.zeros": lambda op: numpy.zeros(_shape(op), _type(op)),
    "relax.concat": lambda op, *parts: numpy.concatenate(parts, op.axis),
}
