# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes, and scans along an axis."""

from __future__ import annotations

from collections.abc import Callable

from ..core.attributes import Bool, DType, Int, Ints
from ..core.infos import TensorInfo, is_bool
from ..core.opdef import Call
from ..core.symbols import product
from .dialect import op, reduction_op
from .infer.dtypes import ANY, asked_dtype, check_dtype
from .infer.sizes import Shape, normalize_axes, normalize_axis


def reduction(*classes: str, result: str = "") -> Callable[[Call], TensorInfo]:
    """Return an inference function that reduces the operand over `axis`.

    The result has its element type, or `result`.
    """

    def infer(call: Call) -> TensorInfo:
        name = call.definition.operands[0].name
        check_dtype(call, name, *classes)
        info = call.operands[name]
        return TensorInfo(_reduced_shape(call, info.shape), result or info.dtype)

    return infer


def _reduced_shape(call: Call, shape: Shape | None) -> Shape | None:
    """Return the reduced shape. An absent axis means all axes; an empty list means none."""
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
    """Infer positions.

    Without elements there is no position, whereas the other reductions have a value for this case.
    """
    result, shape = _positions(call), call.x.shape
    if shape is not None:
        axes = range(len(shape)) if call.axis is None else _axes(call, len(shape))
        empty = [axis for axis in axes if shape[axis] == 0]
        if empty:
            raise call.fail(f"{call.describe('x')} has no elements along axis {empty[0]}, of which one could be found")
    return result


def median(call: Call) -> list[TensorInfo]:
    """Infer the median. A single axis adds the positions; several axes have none."""
    values = number_reduction(call)
    positions = [values.with_dtype("i64")] if call.axis is not None and len(call.axis) == 1 else []
    return [values, *positions]


def scan(call: Call) -> TensorInfo:
    """Infer a scan. Without an axis, the operand is flattened."""
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


_KEEPDIMS = Bool(False, doc="keep reduced dimensions, with size 1")
_AXES = {"axis": Ints(None, doc="the axes to reduce; absent: all of them"), "keepdims": _KEEPDIMS}
_AXIS = {"axis": Int(None, doc="the axis to search; absent: the flattened tensor"), "keepdims": _KEEPDIMS}
_SCAN = {
    "axis": Int(None, doc="the axis to go along; absent: the flattened tensor"),
    "dtype": DType(None, doc="the result's element type; absent: as data"),
    "exclusive": Bool(False, doc="leave each element out of its own result"),
}

reduction_op("sum", "x", attrs=_AXES, infer=any_reduction, doc="The sum over axes; of booleans, whether any is true.")
reduction_op("prod", "x", attrs=_AXES, infer=any_reduction, doc="The product over axes; of booleans, whether all are.")
reduction_op("max", "x", attrs=_AXES, infer=any_reduction, doc="The largest element over axes.")
reduction_op("min", "x", attrs=_AXES, infer=any_reduction, doc="The smallest element over axes.")
reduction_op("mean", "x", attrs=_AXES, infer=number_reduction, doc="The mean over axes, of x's element type.")
reduction_op("std", "x", attrs=_AXES, flops=(4, "x"), infer=number_reduction,
   doc="The square root of the variance over axes.")  # fmt: skip
reduction_op("variance", "x", attrs=_AXES, flops=(4, "x"), infer=number_reduction,
   doc="The mean squared distance to the mean over axes.")  # fmt: skip
op("median", "data", attrs=_AXES, results="values indices?", infer=median,
   doc="The median over axes (the lower of two); over one axis also where it is, as int64.")  # fmt: skip
reduction_op("argmax", "x", attrs=_AXIS, infer=position_reduction, doc="Where the first largest element is, as int64.")
reduction_op("argmin", "x", attrs=_AXIS, infer=position_reduction, doc="Where the first smallest element is, as int64.")
op("cumsum", "data", attrs=_SCAN, flops=1, infer=scan, doc="The sum of each element and all before it.")
op("cumprod", "data", attrs=_SCAN, flops=1, infer=scan, doc="The product of each element and all before it.")
