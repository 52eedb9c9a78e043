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
        if empty := [axis for axis in axes if shape[axis] == 0]:
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


_KEEPDIMS = Bool(False, doc="if True, reduced dimensions stay, with size 1")
_AXES = {"axis": Ints(None, doc="reduced axes; default: all"), "keepdims": _KEEPDIMS}
_AXIS = {"axis": Int(None, doc="reduced axis; default: flatten the tensor first"), "keepdims": _KEEPDIMS}
_SCAN = {
    "axis": Int(None, doc="axis of the scan; default: flatten the tensor first"),
    "dtype": DType(None, doc="element type; default: as data"),
    "exclusive": Bool(False, doc="if True, excludes the element itself"),
}

reduction_op("sum", "x", attrs=_AXES, infer=any_reduction, doc="Sum over axes; logical OR of booleans.")
reduction_op("prod", "x", attrs=_AXES, infer=any_reduction, doc="Product over axes; logical AND of booleans.")
reduction_op("max", "x", attrs=_AXES, infer=any_reduction, doc="Maximum over axes.")
reduction_op("min", "x", attrs=_AXES, infer=any_reduction, doc="Minimum over axes.")
reduction_op("mean", "x", attrs=_AXES, infer=number_reduction, doc="Mean over axes, in x's element type.")
reduction_op("std", "x", attrs=_AXES, flops=(4, "x"), infer=number_reduction,
   doc="Standard deviation over axes: the square root of the variance.")  # fmt: skip
reduction_op("variance", "x", attrs=_AXES, flops=(4, "x"), infer=number_reduction,
   doc="Variance over axes: the mean squared distance to the mean.")  # fmt: skip
op("median", "data", attrs=_AXES, results="values indices?", infer=median,
   doc="Median over axes (the lower of two). A single axis adds its index, as int64.")  # fmt: skip
reduction_op("argmax", "x", attrs=_AXIS, infer=position_reduction, doc="Index of the first maximum, as int64.")
reduction_op("argmin", "x", attrs=_AXIS, infer=position_reduction, doc="Index of the first minimum, as int64.")
op("cumsum", "data", attrs=_SCAN, flops=1, infer=scan, doc="Cumulative sum along the axis.")
op("cumprod", "data", attrs=_SCAN, flops=1, infer=scan, doc="Cumulative product along the axis.")
