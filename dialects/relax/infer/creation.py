# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for operators that create tensors."""

from __future__ import annotations

import math
from typing import Any

from ...core.infos import TensorInfo, is_int
from ...core.opdef import Call
from ...core.symbols import Dim, SymExpr, ceildiv, dim_max, dim_sub
from .axes import normalize_axis
from .dtypes import ANY, asked_dtype, check_dtype
from .ranks import check_min_rank, check_rank
from .scalars import check_flag, check_number, integer, size

_MOST_ELEMENTS = 2**63 - 1


def full(call: Call) -> TensorInfo:
    check_rank(call, "fill_value", 0)
    return TensorInfo(call.shape.dims, asked_dtype(call, "dtype", call.fill_value.dtype, *ANY))


def full_like(call: Call) -> TensorInfo:
    check_rank(call, "fill_value", 0)
    return like(call)


def filled(call: Call) -> TensorInfo:
    """A tensor of the shape that operand 'shape' gives."""
    return TensorInfo(call.shape.dims, asked_dtype(call, "dtype", "", *ANY))


def like(call: Call) -> TensorInfo:
    """A tensor like operand 'x', if wanted with other elements."""
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
    dtype = call.on_value.dtype
    if dtype != call.off_value.dtype:
        raise call.fail(f"{call.describe('on_value')} and {call.describe('off_value')} must have the same type")
    call.require(call.depth > 0, f"{call.describe('depth')} must be positive")
    shape = call.indices.shape
    if shape is None:
        return TensorInfo(None, dtype)
    axis = normalize_axis(call, "axis", len(shape) + 1, call.axis)
    return TensorInfo((*shape[:axis], call.depth, *shape[axis:]), dtype)


def hamming_window(call: Call) -> TensorInfo:
    length = integer(call, "window_size")
    if isinstance(length, int) and length <= 0:
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
    """How many steps lead from start to before end."""
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
