# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of reductions, scans, sorting and searching."""

from __future__ import annotations

from collections.abc import Sequence

from .....dialects.core.infos import TensorInfo, is_bool, is_int
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import export_rows, exports

_REDUCTIONS = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin", "mean": "ReduceMean"}
#: Reductions of booleans: a sum or maximum is true if any is true, a product or minimum if all are.
_OF_BOOLS = {"sum": "ReduceSum", "max": "ReduceSum", "prod": "ReduceProd", "min": "ReduceProd"}


def _axes(op: ExportedOp, name: str = "x") -> list[int] | None:
    axis = op.call.axis
    return None if axis is None else op.axes_of(name, axis) if op.info(name).shape is not None else list(axis)


@exports([f"relax.{name}" for name in _REDUCTIONS])
def reduction(op: ExportedOp) -> Ref:
    x, name = op["x"], op.name.removeprefix("relax.")
    if is_bool(x.dtype):
        # onnxruntime has no maximum of empty tensors, so booleans are summed or multiplied.
        return op.cast(op.graph.reduce(_OF_BOOLS[name], op.cast(x, "i32"), _axes(op), op.keepdims), "i1")
    axes = _axes(op)
    if name == "sum" and is_int(x.dtype):
        # Overflow must wrap around, where a cast of floats would give the largest number.
        return op.cast(op.graph.reduce("ReduceSum", op.cast(x, "i64"), axes, op.keepdims), x.dtype)
    if name == "mean" and _is_of_images(op, axes):
        return op.node("GlobalAveragePool", x)
    return op.graph.reduce(_REDUCTIONS[name], x, axes, op.keepdims)


def _is_of_images(op: ExportedOp, axes: list[int] | None) -> bool:
    """Check whether the reduction is a mean per channel of f32 images, for which runtimes have kernels."""
    rank = op.info("x").rank or 0
    return (
        rank > 2
        and axes is not None
        and sorted(axes) == list(range(2, rank))
        and op.keepdims
        and op["x"].dtype == "f32"
    )


@exports(["relax.variance", "relax.std"])
def variance(op: ExportedOp) -> Ref:
    x, axes = op["x"], _axes(op)
    distance = op.node("Sub", x, op.graph.reduce("ReduceMean", x, axes, keep=True))
    mean = op.graph.reduce("ReduceMean", op.node("Mul", distance, distance), axes, op.keepdims)
    return op.node("Sqrt", mean) if op.name == "relax.std" else mean


@exports(["relax.argmax", "relax.argmin"])
def position(op: ExportedOp) -> Ref:
    operator = {"relax.argmax": "ArgMax", "relax.argmin": "ArgMin"}[op.name]
    if op.call.axis is not None:
        return op.node(operator, op["x"], axis=op.axis_of("x", op.call.axis), keepdims=int(op.keepdims))
    found = op.node(operator, op.graph.flat(op["x"]), axis=0, keepdims=0)
    return op.reshape(found, [1] * len(op.result_shape())) if op.keepdims else found


# ---- scans ----


def _scan_operands(op: ExportedOp) -> tuple[Ref, int]:
    """Return the data of a scan in the result's type, and the axis."""
    data = op.cast(op["data"], op.result().dtype)
    return (op.graph.flat(data), 0) if op.call.axis is None else (data, op.axis_of("data", op.call.axis))


@exports("relax.cumsum")
def cumsum(op: ExportedOp) -> Ref:
    data, axis = _scan_operands(op)
    return op.node("CumSum", data, op.number(axis, "i64"), exclusive=int(op.exclusive))


@exports("relax.cumprod")
def cumprod(op: ExportedOp) -> Ref:
    """Export cumprod. Before opset 26, multiply all elements up to each position, with 1 in place of later elements."""
    data, axis = _scan_operands(op)
    if op.graph.opset >= 26:
        return op.node("CumProd", data, op.number(axis, "i64"), exclusive=int(op.exclusive))
    rank = 1 if op.call.axis is None else op.rank("data")
    size = op.size(op.known_parts(data, [None] * rank)[axis])
    count = op.node("Range", op.number(0, "i64"), size, op.number(1, "i64"))
    rows = op.graph.unsqueeze(count, [1])
    is_before = op.node("Less" if op.exclusive else "LessOrEqual", op.graph.unsqueeze(count, [0]), rows)
    # The dimensions are [result's position, element], then the dimensions behind the axis.
    is_before = op.graph.unsqueeze(is_before, list(range(-(rank - 1 - axis), 0)))
    factors = op.node("Where", is_before, op.graph.unsqueeze(data, [axis]), op.number(1, data.dtype))
    return op.graph.reduce("ReduceProd", factors, [axis + 1], keep=False)


# ---- order ----


def _count(op: ExportedOp, name: str, axis: int) -> Ref:
    """Return the number of elements along an axis as a 1-D tensor, as TopK requires."""
    return op.sizes.one(op.graph, op.parts(name)[axis])


def _sort(op: ExportedOp, count: Ref, axis: int, largest: bool) -> list[Ref]:
    data = op["data"]
    if data.dtype == "ui64":
        # With the first bit flipped, signed order is the same, and there is a kernel for signed integers.
        first = op.number(2**63, "ui64")
        data = op.cast(op.node("BitwiseXor", data, first), "i64")
        values, places = op.graph.nodes_of("TopK", [data, count], 2, axis=axis, largest=int(largest), sorted=1)
        return [op.node("BitwiseXor", op.cast(values, "ui64"), first), places]
    wide = op.cast(data, "ui8") if is_bool(data.dtype) else data
    values, places = op.graph.nodes_of("TopK", [wide, count], 2, axis=axis, largest=int(largest), sorted=1)
    return [op.cast(values, data.dtype), places]


def _order(op: ExportedOp) -> list[Ref]:
    if not op.rank("data"):
        return [op["data"], op.number(0, "i64")]
    axis = op.axis_of("data", op.axis)
    return _sort(op, _count(op, "data", axis), axis, op.descending)


export_rows({"argsort": lambda op: op.cast(_order(op)[1], op.result().dtype), "sort": lambda op: _order(op)[0]})


@exports("relax.topk")
def topk(op: ExportedOp) -> list[Ref]:
    axis = op.axis_of("data", op.axis)
    size = op.shape("data")[axis]
    is_all = op.k < 1 or (isinstance(size, int) and op.k > size)
    count = _count(op, "data", axis) if is_all else op.ints(op.k)
    values, places = _sort(op, count, axis, op.largest)
    if op.ret_type != "values":
        info = op.results[-1]
        assert isinstance(info, TensorInfo)
        places = op.cast(places, info.dtype)
    return {"both": [values, places], "values": [values], "indices": [places]}[op.ret_type]


@exports("relax.median")
def median(op: ExportedOp) -> list[Ref]:
    """Export the median along one axis as the middle element in sorted order. Several axes are refused."""
    axes = _axes(op, "data")
    rank = op.rank("data")
    axes = list(range(rank)) if axes is None else sorted(axes)
    if len(axes) != 1:
        raise op.fail("a median over several axes has no counterpart", "axis")
    (axis,) = axes
    count = _count(op, "data", axis)
    half = op.node("Div", op.node("Sub", count, op.ints(1)), op.ints(2))
    found = [op.node("Gather", each, half, axis=axis) for each in _sort(op, count, axis, largest=False)]
    found = found if op.keepdims else [op.graph.squeeze(each, [axis]) for each in found]
    return found[: len(op.results)]


@exports("relax.unique")
def unique(op: ExportedOp) -> Sequence[Ref]:
    flags = [op.value(name) for name in ("sorted", "return_index", "return_inverse", "return_counts")]
    axis = op.value("axis") if op.has("axis") else None
    if None in flags or (op.has("axis") and not isinstance(axis, int)):
        raise op.fail("its flags and its axis must be known before the model runs")
    is_sorted, *wanted = flags
    x = op["x"] if op.rank("x") else op.reshape(op["x"], [1])
    values, *others = op.graph.nodes_of("Unique", [x], 4, axis=axis, sorted=int(bool(is_sorted)))
    return [values, *(each for each, is_wanted in zip(others, wanted, strict=True) if is_wanted)]
