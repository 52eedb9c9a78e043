# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of operators that read or write elements at indices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .....dialects.core.infos import is_unsigned
from .....dialects.core.symbols import Dim
from ..export_call import ExportedOp
from ..export_values import Ref
from ..registry import export_rows, exports
from ..size_tensors import clamped


def _bounds(op: ExportedOp, bounds: Sequence[Dim]) -> Ref:
    return op.shape_tensor(
        [clamped(bound) if isinstance(bound, int) else bound for bound in bounds if bound is not None]
    )


@exports("relax.strided_slice")
def strided_slice(op: ExportedOp) -> Ref:
    if not op.axes:
        return op["x"]
    steps = None if op.strides is None else op.ints(*op.strides)
    axes = op.ints(*op.axes_of("x", op.axes))
    return op.node("Slice", op["x"], _bounds(op, op.begin), _bounds(op, op.end), axes, steps)


@exports("relax.dynamic_strided_slice")
def dynamic_strided_slice(op: ExportedOp) -> Ref:
    begin, end, strides = (op.cast(op[name], "i64") for name in ("begin", "end", "strides"))
    return op.node("Slice", op["x"], begin, end, None, strides)


def _index(op: ExportedOp, name: str) -> Ref:
    """Return indices as 64-bit integers, as ONNX requires."""
    return op.cast(op[name], "i64")


@exports("relax.take")
def take(op: ExportedOp) -> Ref:
    """Export take. An index out of bounds is clamped first, or the element read there is replaced."""
    data, indices, axis = op["x"], _index(op, "indices"), op.axis
    if axis is None:
        data, axis = op.graph.flat(data), 0
        size = op.size(op.known_parts(data, [None])[0])
    else:
        axis = op.axis_of("x", axis)
        size = op.size(op.parts("x")[axis])
    if op.mode == "fast":
        return op.node("Gather", data, indices, axis=axis)
    if op.mode == "wrap":
        return op.node("Gather", data, op.node("Mod", indices, size), axis=axis)
    zero, last = op.number(0, "i64"), op.node("Sub", size, op.number(1, "i64"))
    inside = op.node("Max", op.node("Min", indices, last), zero)
    taken = op.node("Gather", data, inside, axis=axis)
    if op.mode == "clip":
        return taken
    is_inside = op.node("Equal", indices, inside)
    rank = 1 if op.axis is None else op.rank("x")
    is_inside = op.graph.unsqueeze(is_inside, list(range(-(rank - 1 - axis), 0)))
    return op.node("Where", is_inside, taken, op.number(math.nan, data.dtype))


def _places(op: ExportedOp) -> Ref:
    """Return the broadcast index tensors, joined along a new last dimension."""
    indices = [op.cast(each, "i64") for each in op.all("indices")]
    if len(indices) > 1:
        common = indices[0]
        for index in indices[1:]:
            # A sum has the shape to which both are broadcast.
            common = op.node("Add", common, index)
        sizes = op.node("Shape", common)
        indices = [op.node("Expand", each, sizes) for each in indices]
    columns = [op.graph.unsqueeze(each, [-1]) for each in indices]
    return op.node("Concat", *columns, axis=-1) if len(columns) > 1 else columns[0]


@exports("relax.index_put")
def index_put(op: ExportedOp) -> Ref:
    places = _places(op)
    count = len(op.all("indices"))
    front = op.node("Shape", places, end=-1)
    behind = op.shape_tensor(op.parts("data")[count:]) if count < op.rank("data") else None
    shape = op.node("Concat", front, behind, axis=0) if behind is not None else front
    values = op.node("Expand", op["values"], shape)
    reduction = "add" if op.accumulate else "none"
    return op.node("ScatterND", op["data"], places, values, reduction=reduction)


def _reduction(op: ExportedOp) -> str:
    if op.reduction == "mean":
        raise op.fail("ONNX has no scatter with means", "reduction")
    return "none" if op.reduction == "update" else str(op.reduction)


def _scatter(op: ExportedOp, operator: str, axis: int | None = None) -> Ref:
    indices, reduction = _index(op, "indices"), _reduction(op)
    return op.node(operator, op["data"], indices, op["updates"], axis=axis, reduction=reduction)


export_rows(
    {
        "gather_elements": lambda op: op.node(
            "GatherElements", op["data"], _index(op, "indices"), axis=op.axis_of("data", op.axis)
        ),
        "gather_nd": lambda op: op.node("GatherND", op["data"], _index(op, "indices"), batch_dims=op.batch_dims),
        "index_tensor": lambda op: op.node("GatherND", op["data"], _places(op)),
        "nonzero": lambda op: op.node("NonZero", op["x"] if op.rank("x") else op.reshape(op["x"], [1])),
        "scatter_elements": lambda op: _scatter(op, "ScatterElements", op.axis_of("data", op.axis)),
        "scatter_nd": lambda op: _scatter(op, "ScatterND"),
    }
)


@exports("relax.slice_scatter")
def slice_scatter(op: ExportedOp) -> Ref:
    """Export slice_scatter: a slice of all positions gives the positions of the source's rows."""
    axis, rank = op.axis_of("input", op.axis), op.rank("input")
    size, one = op.size(op.parts("input")[axis]), op.number(1, "i64")
    everywhere = op.node("Range", op.number(0, "i64"), size, one)
    start, end, step = (op.graph.unsqueeze(op.cast(op[name], "i64"), [0]) for name in ("start", "end", "step"))
    places = op.along(op.node("Slice", everywhere, start, end, None, step), axis, rank)
    places = op.node("Expand", places, op.node("Shape", op["src"]))
    return op.node("ScatterElements", op["input"], places, op["src"], axis=axis)


@exports("relax.reverse_sequence")
def reverse_sequence(op: ExportedOp) -> Ref:
    """Export reverse_sequence. ONNX takes the first two axes only, so other axes are transposed."""
    axes = [op.axis_of("data", op.seq_axis), op.axis_of("data", op.batch_axis)]
    order = [*axes, *(axis for axis in range(op.rank("data")) if axis not in axes)]
    back = [order.index(axis) for axis in range(len(order))]
    is_first = sorted(axes) == [0, 1]
    data = op["data"] if is_first else op.graph.transpose(op["data"], order)
    time, batch = axes if is_first else (0, 1)
    made = op.node("ReverseSequence", data, _index(op, "seq_lengths"), time_axis=time, batch_axis=batch)
    return made if is_first else op.graph.transpose(made, back)


@exports("relax.bucketize")
def bucketize(op: ExportedOp) -> Ref:
    """Export bucketize: count the boundaries below each element."""
    dtype = op.result().dtype
    x, boundaries = op["input_tensor"], op["boundaries"]
    if x.dtype != boundaries.dtype:
        wide = "f64" if "f64" in (x.dtype, boundaries.dtype) or is_unsigned(x.dtype) else "f32"
        x, boundaries = op.cast(x, wide), op.cast(boundaries, wide)
    x = op.graph.unsqueeze(x, [-1])
    is_behind = op.node("LessOrEqual" if op.right else "Less", boundaries, x)
    return op.graph.reduce("ReduceSum", op.cast(is_behind, dtype), [-1], keep=False)
