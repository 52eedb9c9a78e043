# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Borders that a body computes by conditions, as te writes padding, become a copy with a border.

`x[i - 1] if 1 <= i and i < 9 else 0` decides at each point whether to read, one by one. The copy has vectors, and
windows over the copy can pad parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....bindings.affine import plain_dim
from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import last_of, made_by
from ....bindings.rewriting import copy_operation
from ....dialects.core.symbols_expr import SymbolError, terms_of
from ....emit.generic import GENERIC, GenericOp
from ....emit.tensors import slice_of
from ....emit.windows import in_room
from ..indices.affine_sizes import linear_factors, loop_indices
from ..indices.body_values import BodyValues

_LESS, _AT_MOST, _GREATER, _AT_LEAST = 2, 3, 4, 5  # predicates of arith.cmpi
_UPWARDS, _WITH_EQUAL = (_LESS, _AT_MOST), (_AT_MOST, _AT_LEAST)


@dataclass(frozen=True)
class _Border:
    """Data in a larger tensor: where the data begin and end there, and the data's own first indices."""

    data: Value
    number: Value
    starts: Sequence[int]
    ends: Sequence[int]
    offsets: Sequence[int]


def copy_with_border(operation: Operation) -> bool:
    """Replace an operation that pads by conditions. Return False if it does anything else."""
    op = GenericOp(operation)
    if (border := _border_of(op)) is None:
        return False
    sizes = [size or 0 for size in op.known_sizes]
    with ir.InsertionPoint(operation), operation.location:
        number, data = _clone_constant(border.number), border.data
        lengths = [end - start for start, end in zip(border.starts, border.ends, strict=True)]
        if lengths != list(data.type.shape):
            data = slice_of(data, border.offsets, lengths)
        behind = [size - end for size, end in zip(sizes, border.ends, strict=True)]
        whole = in_room(data, number, border.starts, behind, sizes, op.outputs[0])
    operation.results[0].replace_all_uses_with(whole)
    operation.erase()
    return True


def _clone_constant(number: Value) -> Value:
    """Return a constant as a value at the insertion point."""
    constant = made_by(number)
    assert constant is not None
    copies: dict[Value, Value] = {}
    copy_operation(constant, copies)
    return copies[number]


def _border_of(op: GenericOp) -> _Border | None:
    if op.operation.name != GENERIC or op.inputs or len(op.outputs) != 1 or op.reductions or None in op.known_sizes:
        return None
    choice = made_by(last_of(op.block).operands[0], "scf.if")
    is_identity = [plain_dim(result) for result in op.output_maps[0].results] == list(range(len(op.kinds)))
    if choice is None or not is_identity or len(choice.results) != 1:
        return None
    inside, number = (last_of(region.blocks[0]).operands[0] for region in choice.regions)
    read = made_by(inside, "tensor.extract")
    if read is None or made_by(number, "arith.constant") is None:
        return None
    data, *at = read.operands
    shape = list(data.type.shape)
    if data == op.outputs[0] or DYNAMIC in shape or len(at) != len(op.kinds):
        return None
    try:
        return _border(op, choice.operands[0], number, data, at)
    except SymbolError:
        return None


def _border(op: GenericOp, condition: Value, number: Value, data: Value, at: Sequence[Value]) -> _Border | None:
    values = BodyValues(loop_indices(op.known_sizes))
    ranges = _ranges(values, condition, [size or 0 for size in op.known_sizes])
    shifts = [_shift(values, index, axis, op.known_sizes[axis]) for axis, index in enumerate(at)]
    if ranges is None:
        return None
    offsets = []
    for (start, end), shift, size in zip(ranges, shifts, data.type.shape, strict=True):
        if shift is None or start >= end or start + shift < 0 or end + shift > size:
            return None
        offsets.append(start + shift)
    starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
    return _Border(data, number, starts, ends, offsets)


def _shift(values: BodyValues, index: Value, axis: int, size: int | None) -> int | None:
    """Return the distance from the index of a loop to an index of the data, or None for an index of another form."""
    found = values.size(index)
    factors = None if found is None else linear_factors(found)
    if found is None or factors != ({} if size == 1 else {axis: 1}):
        return None
    return int(terms_of(found).get((), 0))


def _ranges(values: BodyValues, condition: Value, sizes: Sequence[int]) -> list[tuple[int, int]] | None:
    """Return the range of each loop in which a conjunction of comparisons holds, or None for another condition."""
    ranges = [(0, size) for size in sizes]
    left = [condition]
    while left:
        value = left.pop()
        both, compared = made_by(value, "arith.andi"), made_by(value, "arith.cmpi")
        if both is not None:
            left += both.operands
        elif values.truth(value) is True:
            continue
        elif compared is None or not _narrow(values, compared, ranges):
            return None
    return ranges


def _narrow(values: BodyValues, compared: Operation, ranges: list[tuple[int, int]]) -> bool:
    """Narrow the range of a loop to a comparison. Return False if the comparison has another form."""
    predicate = compared.attributes["predicate"].value
    one, other = map(values.size, compared.operands)
    if one is None or other is None or not _LESS <= predicate <= _AT_LEAST:
        return False
    # The comparison is `below < 0`.
    below = (one - other if predicate in _UPWARDS else other - one) - (1 if predicate in _WITH_EQUAL else 0)
    if (factors := linear_factors(below)) is None or len(factors) != 1:
        return False
    ((dim, factor),) = factors.items()
    rest, (start, end) = int(terms_of(below).get((), 0)), ranges[dim]
    if abs(factor) != 1:
        return False
    ranges[dim] = (start, min(end, -rest)) if factor == 1 else (max(start, rest + 1), end)
    return True
