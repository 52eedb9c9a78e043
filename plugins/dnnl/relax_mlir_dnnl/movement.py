# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rules for slices, splits, concatenations, broadcasts and conversions of the element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim, equal
from relax_mlir.dialects.relax.values import normal_axis, shape_of
from relax_mlir.passes.graph.parts.flat_graph import FlatNode, Ref
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import CHECKS, FLOATS, converts
from .runtime.description import Argument

_STORED = (*FLOATS, "i8", "ui8", "i32")
#: Most tensors that a concatenation joins. A broadcast joins copies of its operand: oneDNN cannot repeat elements.
_MOST_COPIES = 16


def _refuse_slice(op: Operation, call: Call) -> str:
    if call.strides is not None and any(step != 1 for step in call.strides):
        return f"oneDNN's slices have no strides, got {max(call.strides, key=abs)}"
    if not all(isinstance(each, int) for each in (*call.begin, *call.end)):
        return "oneDNN needs the bounds of the slice at compile time"
    sizes = [call.x.shape[normal_axis(axis, len(call.x.shape))] for axis in call.axes]
    return "" if all(isinstance(size, int) for size in sizes) else "oneDNN needs the sliced sizes at compile time"


@converts("strided_slice", refuse=_refuse_slice, dtypes=_STORED)
def strided_slice(converter: Converter, node: FlatNode) -> None:
    shape = node.operands[0].dims
    begin = [0] * len(shape)
    for axis, first in zip(node.call.axes, node.call.begin, strict=True):
        axis = normal_axis(axis, len(shape))
        size = shape[axis]
        assert isinstance(size, int), size  # see _refuse_slice
        begin[axis] = slice(first, None).indices(size)[0]
    _piece(converter, node.operands[0], begin, node.result)


def _piece(converter: Converter, source: Ref, begin: Sequence[int], result: Ref) -> None:
    converter.step("slice", result, {"src": converter.argument(source)}, attributes={"begin": list(begin)})


@converts("split", refuse=CHECKS.split, dtypes=_STORED)
def split(converter: Converter, node: FlatNode) -> None:
    """Convert a split to one slice per result."""
    rank = len(node.operands[0].dims)
    axis, at = normal_axis(node.call.axis, rank), 0
    for result in node.results:
        _piece(converter, node.operands[0], [at if index == axis else 0 for index in range(rank)], result)
        size = result.dims[axis]
        assert isinstance(size, int)
        at += size


def _join(converter: Converter, parts: Sequence[Argument], axis: int, result: Ref | Argument) -> None:
    arguments = {f"part{number}": part for number, part in enumerate(parts)}
    converter.step("concat", result, arguments, attributes={"axis": axis})


def _refuse_join(op: Operation, call: Call) -> str:
    count = len(call.operands["tensors"])
    return "" if count <= _MOST_COPIES else f"oneDNN is fast for at most {_MOST_COPIES} joined tensors, got {count}"


@converts("concat", refuse=_refuse_join, dtypes=_STORED)
def concat(converter: Converter, node: FlatNode) -> None:
    axis = normal_axis(node.call.axis, len(node.result.dims))
    _join(converter, [converter.argument(operand) for operand in node.operands], axis, node.result)


@converts("stack", refuse=_refuse_join, dtypes=_STORED)
def stack(converter: Converter, node: FlatNode) -> None:
    sizes = list(converter.sizes(node.result.dims))
    axis = normal_axis(node.call.axis, len(sizes))
    sizes[axis] = 1
    _join(converter, [converter.argument(operand, ("reshape", sizes)) for operand in node.operands], axis, node.result)


def _find_copied(source: Sequence[Dim], result: Sequence[Dim]) -> list[tuple[int, Any]]:
    """Return the axes along which a broadcast repeats its operand, with the numbers of copies."""
    pairs = enumerate(zip([1] * (len(result) - len(source)) + [*source], result, strict=True))
    return [(axis, size) for axis, (one, size) in pairs if equal(one, size) is not True]


def _refuse_copies(op: Operation, call: Call) -> str:
    copied = _find_copied(call.x.shape, shape_of(op.results[0]) or ())
    if not all(isinstance(count, int) for _, count in copied):
        return "oneDNN needs the number of copies at compile time"
    most = max((count for _, count in copied), default=1)
    return "" if most <= _MOST_COPIES else f"oneDNN is fast for broadcasts to at most {_MOST_COPIES} copies, got {most}"


@converts("broadcast_to", refuse=_refuse_copies, dtypes=_STORED)
def broadcast_to(converter: Converter, node: FlatNode) -> None:
    """Convert a broadcast to concatenations of the tensor with itself, one per repeated axis."""
    source, result = node.operands[0], node.result.dims
    shape = source.dims
    sizes = list(converter.sizes([1] * (len(result) - len(shape)) + [*shape]))
    part = converter.argument(source, ("reshape", sizes))
    copied = _find_copied(shape, result)
    for axis, count in copied:
        sizes[axis] = count
        is_last = axis == copied[-1][0]
        joined = node.result if is_last else converter.temporary(sizes, source.info.dtype)
        _join(converter, [part] * count, axis, joined)
        part = part if isinstance(joined, Ref) else joined
    if not copied:
        converter.step("view", node.result, {"src": part})


def _refuse_astype(op: Operation, call: Call) -> str:
    return "" if call.dtype in FLOATS else f"oneDNN rounds elements to {call.dtype}, and does not truncate them"


@converts("astype", refuse=_refuse_astype, dtypes=_STORED)
def astype(converter: Converter, node: FlatNode) -> None:
    if not converter.write_by_product(node.operands[0], node.result):
        converter.step("reorder", node.result, {"src": converter.argument(node.operands[0])})
