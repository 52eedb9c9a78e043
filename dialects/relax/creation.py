# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors created from shapes and numbers."""

from __future__ import annotations

import math
from typing import Any

from ..core.attributes import DType, Int
from ..core.infos import TensorInfo, is_int
from ..core.opdef import Call
from ..core.symbols import Dim, SymExpr, ceildiv, dim_max, dim_sub
from .dialect import broadcast_op, elementwise_op, injective_op
from .infer.dtypes import ANY, asked_dtype, check_dtype, check_flag, check_number, integer, size
from .infer.sizes import check_min_rank, check_rank, normalize_axis

_MOST_ELEMENTS = 2**63 - 1


def full(call: Call) -> TensorInfo:
    check_rank(call, "fill_value", 0)
    return TensorInfo(call.shape.dims, asked_dtype(call, "dtype", call.fill_value.dtype, *ANY))


def full_like(call: Call) -> TensorInfo:
    check_rank(call, "fill_value", 0)
    return like(call)


def filled(call: Call) -> TensorInfo:
    """Infer a tensor of the shape in operand 'shape'."""
    return TensorInfo(call.shape.dims, asked_dtype(call, "dtype", "", *ANY))


def like(call: Call) -> TensorInfo:
    """Infer a tensor like operand 'x', with another element type if requested."""
    return call.x.with_dtype(asked_dtype(call, "dtype", call.x.dtype, *ANY))


def eye(call: Call) -> TensorInfo:
    rows = size(call, "n")
    columns = size(call, "m")
    integer(call, "k")
    return TensorInfo((rows, columns), asked_dtype(call, "dtype", "f32", *ANY))


def eye_like(call: Call) -> TensorInfo:
    check_rank(call, "x", 2)
    integer(call, "k")
    info = like(call)
    return info if info.shape is not None else info.with_shape((None, None))


def triangle(call: Call) -> TensorInfo:
    check_min_rank(call, "x", 2)
    integer(call, "k")
    return call.x


def one_hot(call: Call) -> TensorInfo:
    check_dtype(call, "indices", "int")
    if (dtype := call.on_value.dtype) != call.off_value.dtype:
        raise call.fail(f"{call.describe('on_value')} and {call.describe('off_value')} must have the same type")
    call.require(call.depth > 0, f"{call.describe('depth')} must be positive")
    if (shape := call.indices.shape) is None:
        return TensorInfo(None, dtype)
    axis = normalize_axis(call, "axis", len(shape) + 1, call.axis)
    return TensorInfo((*shape[:axis], call.depth, *shape[axis:]), dtype)


def hamming_window(call: Call) -> TensorInfo:
    if isinstance(length := integer(call, "window_size"), int) and length <= 0:
        raise call.fail(f"operand 'window_size' must be positive, got {length}")
    check_flag(call, "periodic")
    check_number(call, "alpha", "beta")
    return TensorInfo((length,), asked_dtype(call, "dtype", "", "float"))


def arange(call: Call) -> TensorInfo:
    check_number(call, "start", "end", "step")
    integral = all(is_int(info.dtype) for info in (call.start, call.end, call.step))
    dtype = asked_dtype(call, "dtype", "i64" if integral else "f32", "float", "int")
    call.require(call.step.value != 0, "operand 'step' must not be zero")
    return TensorInfo((_steps(call, call.start.value, call.end.value, call.step.value),), dtype)


def _steps(call: Call, start: Any, end: Any, step: Any) -> Dim:
    """Return the number of steps from start to before end, or None if unknown."""
    values = (start, end, step)
    if all(isinstance(value, (int, SymExpr)) for value in values):
        count = dim_max(0, ceildiv(dim_sub(end, start), step))
    elif all(isinstance(value, (int, float)) for value in values):
        count = max(0, _ceil_quotient(call, end, start, step))
    else:
        return None
    if isinstance(count, int) and count > _MOST_ELEMENTS:
        raise call.fail(f"gives {count} elements from {start} to {end} by {step}, more than a tensor can have")
    return count


def _ceil_quotient(call: Call, end: float, start: float, step: float) -> int:
    try:
        return math.ceil((end - start) / step)
    except (OverflowError, ValueError):  # infinity, NaN
        raise call.fail(f"cannot count from {start} to {end} by {step}") from None


def _from_zero(arguments: dict[str, object]) -> dict[str, object]:
    """Rewrite `arange(end)` as `arange(0, end)`."""
    if arguments["end"] is None and "start" in arguments:
        return {**arguments, "start": 0, "end": arguments["start"]}
    return arguments


def _square(arguments: dict[str, object]) -> dict[str, object]:
    return {**arguments, "m": arguments.get("n")} if arguments["m"] is None else arguments


_AS_X = {"dtype": DType(None, doc="element type; default: as x")}

broadcast_op("full", "shape:shape fill_value", attrs={"dtype": DType(None, doc="element type; default: as fill_value")},
   flops=0, infer=full, shaped_by="shape", doc="Tensor filled with the value of a 0-D tensor.")  # fmt: skip
broadcast_op("full_like", "x fill_value", attrs=_AS_X, flops=0, infer=full_like,
   doc="Tensor of x's shape, filled with the value of a 0-D tensor.")  # fmt: skip
elementwise_op("ones", "shape:shape", attrs={"dtype": DType()}, flops=0, infer=filled, shaped_by="shape",
   doc="Tensor filled with 1.")  # fmt: skip
elementwise_op("ones_like", "x", attrs=_AS_X, flops=0, infer=like, doc="Tensor of x's shape, filled with 1.")
elementwise_op("zeros", "shape:shape", attrs={"dtype": DType()}, flops=0, infer=filled, shaped_by="shape",
   doc="Tensor filled with 0.")  # fmt: skip
elementwise_op("zeros_like", "x", attrs=_AS_X, flops=0, infer=like, doc="Tensor of x's shape, filled with 0.")
injective_op("arange", "start:scalar end:scalar step:scalar", defaults={"end": None, "step": 1}, prepare=_from_zero,
   attrs={"dtype": DType(None, doc="element type; default: int64 for integers, else float32")}, flops=2, infer=arange,
   doc="Evenly spaced numbers in [start, end); `arange(n)` is `arange(0, n, 1)`.")  # fmt: skip
injective_op("eye", "n:scalar m:scalar k:scalar", defaults={"m": None, "k": 0}, prepare=_square,
   attrs={"dtype": DType("f32")}, infer=eye,
   doc="Matrix of shape (n, m), by default (n, n), with 1 on the k-th diagonal and 0 elsewhere.")  # fmt: skip
injective_op("eye_like", "x k:scalar", defaults={"k": 0}, attrs=_AS_X, infer=eye_like,
   doc="Matrix of x's shape with 1 on the k-th diagonal and 0 elsewhere.")  # fmt: skip
elementwise_op("tril", "x k:scalar", defaults={"k": 0}, infer=triangle, doc="Lower triangle, with 0 above diagonal k.")
elementwise_op("triu", "x k:scalar", defaults={"k": 0}, infer=triangle, doc="Upper triangle, with 0 below diagonal k.")
injective_op("one_hot", "indices on_value:scalar off_value:scalar",
   attrs={"depth": Int(doc="size of the new axis"), "axis": Int(-1, doc="position of the new axis")},
   infer=one_hot, doc="One-hot vectors along a new axis: on_value at the index, off_value elsewhere.")  # fmt: skip
injective_op("hamming_window", "window_size:scalar periodic:scalar alpha:scalar beta:scalar", attrs={"dtype": DType()},
   flops=4, infer=hamming_window,
   doc="Hamming window: alpha - beta * cos(2 * pi * i / N), N = window_size if periodic, else one less.")  # fmt: skip
