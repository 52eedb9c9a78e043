# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for reductions over axes and scans along one."""

from __future__ import annotations

from collections.abc import Callable

from ...core.infos import TensorInfo, is_bool
from ...core.opdef import Call
from ...core.symbols import Dim, product
from .axes import normalize_axes, normalize_axis
from .dtypes import ANY, asked_dtype, check_dtype

Shape = tuple[Dim, ...]


def reduction(*classes: str, result: str = "") -> Callable[[Call], TensorInfo]:
    """Reduces the one operand over `axis`; the result has its element type, or `result`."""

    def infer(call: Call) -> TensorInfo:
        name = call.definition.operands[0].name
        check_dtype(call, name, *classes)
        info = call.operands[name]
        return TensorInfo(_reduced_shape(call, info.shape), result or info.dtype)

    return infer


def _reduced_shape(call: Call, shape: Shape | None) -> Shape | None:
    """No axis means all of them; no axes (an empty list) means none."""
    if shape is None:
        return () if call.axis is None and not call.keepdims else None
    axes = range(len(shape)) if call.axis is None else _axes(call, len(shape))
    if call.keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _axes(call: Call, rank: int) -> tuple[int, ...]:
    axes = (call.axis,) if isinstance(call.axis, int) else call.axis
    return normalize_axes(call, "axis", rank, axes)


any_reduction = reduction(*ANY)
number_reduction = reduction("float", "int")
_positions = reduction(*ANY, result="i64")


def position_reduction(call: Call) -> TensorInfo:
    """Among no elements none is at any position; the other reductions have a value for that."""
    result, shape = _positions(call), call.x.shape
    if shape is not None:
        axes = range(len(shape)) if call.axis is None else _axes(call, len(shape))
        empty = [axis for axis in axes if shape[axis] == 0]
        if empty:
            raise call.fail(f"{call.describe('x')} has no elements along axis {empty[0]}, of which one could be found")
    return result


def median(call: Call) -> list[TensorInfo]:
    """Over one axis the positions come too; there is no position in several."""
    values = number_reduction(call)
    positions = [values.with_dtype("i64")] if call.axis is not None and len(call.axis) == 1 else []
    return [values, *positions]


def scan(call: Call) -> TensorInfo:
    """Without an axis, along the flattened operand."""
    check_dtype(call, "data", *ANY)
    dtype = asked_dtype(call, "dtype", call.data.dtype, "float", "int")
    if is_bool(dtype):
        raise call.fail(f"{call.describe('data')} has bool elements: attribute 'dtype' must name the result's type")
    shape = call.data.shape
    if call.axis is None:
        return TensorInfo((None if shape is None else product(shape),), dtype)
    if shape is not None:
        normalize_axis(call, "axis", len(shape), call.axis)
    return TensorInfo(shape, dtype)
