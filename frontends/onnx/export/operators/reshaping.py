# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of reshaping, reordering, copying, joining and splitting of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .....dialects.core.symbols import equal
from ..export_call import ExportedOp
from ..export_values import Part, Ref, ShapeValue
from ..registry import export_rows, exports

#: End of a dimension, as the bound of a slice.
OPEN = 2**63 - 1


@exports("relax.reshape")
def reshape(op: ExportedOp) -> Ref:
    shape = op.held("shape")
    assert isinstance(shape, ShapeValue)
    if shape.parts is None or not all(map(op.sizes.is_known, shape.parts)):
        return op.node("Reshape", op["x"], op.shape_tensor(shape), allowzero=1)
    source = op.parts("x") if op.info("x").shape is not None else []
    return op.reshape(op["x"], shape.parts, source)


@exports("relax.squeeze")
def squeeze(op: ExportedOp) -> Ref:
    if op.call.axis is not None:
        return op.graph.squeeze(op["x"], op.axes_of("x", op.call.axis))
    if any(equal(size, 1) is None for size in op.shape("x")):
        raise op.fail("attribute 'axis' is absent, and not all sizes are numbers", "axis")
    return op.graph.squeeze(op["x"], [axis for axis, size in enumerate(op.shape("x")) if size == 1])


@exports("relax.expand_dims")
def expand_dims(op: ExportedOp) -> Ref:
    rank = op.rank("x") + len(op.axis)
    return op.graph.unsqueeze(op["x"], sorted(axis % rank for axis in op.axis))


@exports("relax.permute_dims")
def permute_dims(op: ExportedOp) -> Ref:
    rank = op.rank("x")
    axes = range(rank)[::-1] if op.axes is None else op.axes_of("x", op.axes)
    return op.graph.transpose(op["x"], list(axes))


@exports(["relax.collapse_sum_like", "relax.collapse_sum_to"])
def collapse_sum(op: ExportedOp) -> Ref:
    """Export the inverse of broadcasting: sum over leading dimensions and dimensions of size 1."""
    source, target = op.shape("data"), op.result_shape()
    extra = len(source) - len(target)
    summed = [extra + axis for axis, size in enumerate(target) if size == 1 and source[extra + axis] != 1]
    for axis, size in enumerate(target):
        if size != 1 and equal(size, source[extra + axis]) is not True:
            raise op.fail(f"whether dimension {axis} of the result was broadcast is not known before the model runs")
    reduced = op.graph.reduce("ReduceSum", op["data"], summed, keep=True) if summed else op["data"]
    return op.graph.reduce("ReduceSum", reduced, list(range(extra)), keep=False) if extra else reduced


@exports("relax.repeat")
def repeat(op: ExportedOp) -> Ref:
    """Export repeat: broadcast along a new dimension behind the axis, then merge both."""
    if op.axis is None:
        whole = op.graph.flat(op["data"])
        parts, axis = op.known_parts(whole, [None]), 0
    else:
        whole, parts, axis = op["data"], op.parts("data"), op.axis_of("data", op.axis)
    spread = op.graph.unsqueeze(whole, [axis + 1])
    shape: list[Part] = [1] * (len(parts) + 1)
    shape[axis + 1] = op.repeats
    spread = op.node("Expand", spread, op.shape_tensor(shape))
    joined = op.result_shape()
    return op.reshape(spread, op.known_parts(spread, joined) if None not in joined else _join(op, parts, axis))


def _join(op: ExportedOp, parts: Sequence[Part], axis: int) -> list[Part]:
    size = op.node("Mul", op.sizes.one(op.graph, parts[axis]), op.ints(op.repeats))
    return [*parts[:axis], size, *parts[axis + 1 :]]


@exports("relax.tile")
def tile(op: ExportedOp) -> Ref:
    rank, repeats = op.rank("data"), list(op.repeats)
    data = op.graph.unsqueeze(op["data"], list(range(max(len(repeats) - rank, 0))))
    return op.node("Tile", data, op.ints(*[1] * (rank - len(repeats)), *repeats))


@exports("relax.flip")
def flip(op: ExportedOp) -> Ref:
    axis = op.axis_of("data", op.axis)
    return op.node("Slice", op["data"], op.ints(-1), op.ints(-OPEN), op.ints(axis), op.ints(-1))


@exports("relax.concat")
def concat(op: ExportedOp) -> Ref:
    tensors = op.all("tensors")
    return op.node("Concat", *tensors, axis=op.axis) if len(tensors) > 1 else tensors[0]


@exports("relax.stack")
def stack(op: ExportedOp) -> Ref:
    axis = op.axis % len(op.result_shape())
    return op.node("Concat", *(op.graph.unsqueeze(each, [axis]) for each in op.all("tensors")), axis=axis)


@exports("relax.split")
def split(op: ExportedOp) -> list[Ref]:
    """Export split. Types or bounds give the lengths of the parts."""
    axis, x, sections = op.axis_of("x", op.axis), op["x"], op.indices_or_sections
    lengths = [op.result_shape(index)[axis] for index in range(len(op.results))]
    if len(lengths) == 1:
        return [x]
    if all(isinstance(length, int) for length in lengths):
        known = [length for length in lengths if isinstance(length, int)]
        return op.graph.nodes_of("Split", [x, op.ints(*known)], len(known), axis=axis)
    if isinstance(sections, int):
        if not all(length is not None and op.sizes.is_known(length) for length in lengths):
            raise op.fail("the sections' sizes are not known before the model runs", "indices_or_sections")
        parts: list[Part] = [length for length in lengths if length is not None]
        return op.graph.nodes_of("Split", [x, op.shape_tensor(parts)], len(lengths), axis=axis)
    bounds = [0, *sections, OPEN]
    return [op.node("Slice", x, op.ints(begin), op.ints(end), op.ints(axis)) for begin, end in pairwise(bounds)]


@exports("relax.meshgrid")
def meshgrid(op: ExportedOp) -> list[Ref]:
    """Export meshgrid: broadcast each tensor along its own dimension. With "xy", the first two change places."""
    tensors = [op.reshape(each, [-1]) for each in op.all("tensors")]
    count = len(tensors)
    order = list(range(count))
    if op.indexing == "xy":
        order[:2] = reversed(order[:2])
    by_axis = {axis: tensor for axis, tensor in zip(order, tensors, strict=True)}
    sizes = [op.node("Shape", by_axis[axis]) for axis in range(count)]
    shape = op.node("Concat", *sizes, axis=0)
    return [
        op.node("Expand", op.along(tensor, axis, count), shape) for axis, tensor in zip(order, tensors, strict=True)
    ]


@exports("relax.nn.pixel_shuffle")
def pixel_shuffle(op: ExportedOp) -> Ref:
    if op.rank("data") != 4:
        raise op.fail("ONNX's DepthToSpace takes tensors of 4 dimensions")
    return op.node("DepthToSpace", op["data"], blocksize=op.upscale_factor, mode="CRD")


_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@exports("relax.nn.pad")
def pad(op: ExportedOp) -> Ref:
    data, widths = op["data"], list(op.pad_width)
    value = op.number(op.pad_value, data.dtype) if op.pad_mode == "constant" else None
    return op.node("Pad", data, op.ints(*widths[::2], *widths[1::2]), value, mode=_MODES[op.pad_mode])


export_rows(
    {
        "broadcast_to": lambda op: op.node("Expand", op["x"], op["shape"]),
        "flatten": lambda op: op.graph.flat(op["x"]),
        "nn.batch_flatten": lambda op: op.node("Flatten", op["data"], axis=1),
    }
)
