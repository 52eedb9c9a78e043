# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Result sizes of upstream's tensor operations: numbers, or sizes derived from operands and attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import last_of

#: A number, an expression over symbols, an index value of the program, or None if unknown.
Size = Any
#: Callable that returns the known sizes of a tensor.
ShapeOf = Callable[[Value], Sequence[Size]]


def result_sizes(op: Operation, index: int, shape_of: ShapeOf) -> list[Size]:
    """Return the sizes of a result, one per dimension."""
    type_ = op.results[index].type
    own = [None if size == DYNAMIC else size for size in type_.shape]
    if None not in own:
        return own
    if (rule := _RULES.get(op.name)) is not None:
        shape = list(rule(op, index, shape_of))
    elif op.name.startswith("linalg."):
        shape = list(shape_of(list(op.operands)[len(op.operands) - len(op.results) :][index]))
    else:
        return own
    return [mine if mine is not None else other for mine, other in zip(own, shape, strict=True)]


def slice_parts(op: Operation) -> list[list[Size]]:
    """Return offsets, sizes and strides of an extracted or inserted slice."""
    first = 1 if op.name == "tensor.extract_slice" else 2
    names = ("static_offsets", "static_sizes", "static_strides")
    return [_mix(op, name, _segment(op, first + place)) for place, name in enumerate(names)]


def _mix(op: Operation, name: str, values: Sequence[Value]) -> list[Size]:
    """Return an attribute's numbers, with the next value in place of each dynamic number."""
    rest = iter(values)
    return [next(rest) if number == DYNAMIC else number for number in ir.DenseI64ArrayAttr(op.attributes[name])]


def _segment(op: Operation, index: int) -> list[Value]:
    """Return a group of operands by the operation's segment sizes."""
    counts = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    start = sum(counts[:index])
    return list(op.operands)[start : start + counts[index]]


def _dynamic(op: Operation, index: int, shape_of: ShapeOf) -> list[Size]:
    rest = iter(op.operands)
    return [next(rest) if size == DYNAMIC else size for size in op.results[index].type.shape]


def _compute_padded(op: Operation, index: int, shape_of: ShapeOf) -> list[Size]:
    sides = [_mix(op, name, _segment(op, place)) for place, name in ((1, "static_low"), (2, "static_high"))]
    sums = zip(shape_of(op.operands[0]), *sides, strict=True)
    return [None if any(isinstance(part, ir.Value) or part is None for part in parts) else sum(parts) for parts in sums]


def _compute_sliced(op: Operation, index: int, shape_of: ShapeOf) -> list[Size]:
    """Return a slice's sizes. A rank-reduced result has lost dimensions of size 1."""
    sizes = slice_parts(op)[1]
    lost = len(sizes) - len(op.results[0].type.shape)
    for axis in reversed(range(len(sizes))):
        if lost and isinstance(sizes[axis], int) and sizes[axis] == 1:
            del sizes[axis]
            lost -= 1
    return sizes


def _compute_collapsed(op: Operation, index: int, shape_of: ShapeOf) -> list[Size]:
    sizes = shape_of(op.operands[0])
    groups = [[sizes[int(axis)] for axis in group] for group in op.attributes["reassociation"]]
    return [None if None in group else math.prod(group) for group in groups]


def _compute_joined(op: Operation, index: int, shape_of: ShapeOf) -> list[Size]:
    axis = int(op.attributes["dim"])
    shapes = [list(shape_of(operand)) for operand in op.operands]
    whole = shapes[0]
    along = [shape[axis] for shape in shapes]
    whole[axis] = None if None in along else sum(along)
    return whole


def _choose(op: Operation, index: int, shape_of: ShapeOf) -> list[Size]:
    """Return the sizes that both branches share."""
    ends = [last_of(region.blocks[0]).operands[index] for region in op.regions]
    one, other = (shape_of(end) for end in ends)
    return [mine if mine == yours else None for mine, yours in zip(one, other, strict=True)]


_RULES: dict[str, Callable[[Operation, int, ShapeOf], Sequence[Size]]] = {
    "tensor.empty": _dynamic,
    "bufferization.alloc_tensor": _dynamic,
    "tensor.generate": _dynamic,
    "tensor.splat": lambda op, index, shape_of: [None] * len(op.results[0].type.shape),
    "tensor.cast": lambda op, index, shape_of: shape_of(op.operands[0]),
    "tensor.pad": _compute_padded,
    "tensor.extract_slice": _compute_sliced,
    "tensor.insert_slice": lambda op, index, shape_of: shape_of(op.operands[1]),
    "tensor.insert": lambda op, index, shape_of: shape_of(op.operands[1]),
    "tensor.collapse_shape": _compute_collapsed,
    "tensor.expand_shape": lambda op, index, shape_of: _mix(op, "static_output_shape", list(op.operands)[1:]),
    "tensor.concat": _compute_joined,
    "scf.if": _choose,
    "scf.for": lambda op, index, shape_of: shape_of(op.operands[3 + index]),
}
