# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds checks: operations of upstream leave bounds to their users, so accesses are checked or clamped here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.affine import Linear, linear_form, plain_dim
from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, made_by, operations_in
from ....dialects import relax
from ....dialects.core.symbols import Dim, dim_add, dim_mul, dim_sub, equal
from ....emit.generic import GENERIC, GenericOp
from ....emit.numbers import Number, as_i64, as_index, maximum, minimum, number
from .result_sizes import Size

_SAME = ("tensor.cast", GENERIC)


class Needs(NamedTuple):
    """Requirements of a PrimFunc's loops on its arguments."""

    #: Required sizes by argument, for arguments that may have other sizes.
    shapes: dict[int, list[Dim]]
    #: Argument, axis, and the last element that sliding windows read along it.
    reaches: list[tuple[int, int, Dim]]


def needs_of(function: Operation, shapes: Sequence[Sequence[Dim]]) -> Needs:
    """Derive the requirements. The last tensor, which is the result, determines the trip count of shared loops."""
    arguments = list(body_of(function).arguments)
    needs = Needs({}, [])
    for op in operations_in(function):
        if op.name == GENERIC:
            _note_needs(GenericOp(op), arguments, shapes, needs)
    return needs


def _note_needs(generic: GenericOp, arguments: Sequence[Value], shapes: Sequence[Sequence[Dim]], needs: Needs) -> None:
    extents: dict[int, Dim] = {}
    sliding: list[tuple[int, int, Linear]] = []
    for operand, access in reversed(list(zip(generic.operands, generic.maps, strict=True))):
        if (root := _root(operand)) not in arguments:
            continue
        place = arguments.index(root)
        for axis, expression in enumerate(access.results):
            dim, form = plain_dim(expression), linear_form(expression)
            if dim is not None:
                size = needs.shapes.get(place, shapes[place])[axis]
                if equal(extents.setdefault(dim, size), size) is not True:
                    needs.shapes.setdefault(place, list(shapes[place]))[axis] = extents[dim]
            elif form is not None:
                sliding.append((place, axis, form))
    for place, axis, form in sliding:
        last: Dim = form.constant
        for dim, factor in form.factors:
            last = dim_add(last, dim_mul(dim_sub(extents.get(dim, 1), 1), factor))
        if last is not None and equal(last, dim_sub(shapes[place][axis], 1)) is not True:
            needs.reaches.append((place, axis, last))


def check_reach(axis: int, size: Dim, last: Dim) -> None:
    """Emit a check that windows do not slide over the end of a tensor."""
    if not isinstance(size, int) or not isinstance(last, int):
        _require(_number(last) < _number(size), f"windows slide over the end of dimension {axis} of a tensor")


def _root(value: Value) -> Value:
    """Return the tensor of equal sizes from which a tensor is derived."""
    maker = made_by(value, *_SAME)
    while maker is not None:
        outputs = len(maker.operands) - len(maker.results)
        value = maker.operands[outputs + value.result_number if maker.name == GENERIC else 0]
        maker = made_by(value, *_SAME)
    return value


def limit_indices(function: Operation) -> None:
    """Clamp computed indices of element reads to the tensor's bounds."""
    for op in operations_in(function):
        if op.name != "tensor.extract":
            continue
        for axis, index in enumerate(list(op.operands)[1:]):
            if made_by(index, "linalg.index", "arith.constant") is None:
                with op.location, ir.InsertionPoint(op):
                    last = _size(op.operands[0], axis) - 1
                    limited = maximum(minimum(number(index), last), number(as_index(0).value))
                op.operands[1 + axis] = limited.value


def _size(tensor: Value, axis: int) -> Number:
    index = ir.IndexType.get()
    size = ir.Operation.create("tensor.dim", results=[index], operands=[tensor, as_index(axis).value])
    return number(size.result)


def check_slice(name: str, slices: Sequence[Sequence[Size]], whole: Sequence[Size]) -> None:
    """Emit a check that a slice with these offsets, sizes and strides is within its tensor."""
    for axis, parts in enumerate(zip(*slices, whole, strict=True)):
        offset, size, stride, extent = parts
        if all(isinstance(part, int) for part in parts) or (
            offset == 0 and stride == 1 and equal(size, extent) is True
        ):
            continue
        first, count, step, end = (_number(part) for part in parts)
        last = first + (count - 1) * step
        holds = (count == 0) | ((first >= 0) & (count > 0) & (last >= 0) & (last < end))
        _require(holds, f"the slice of {name} is not within its tensor along dimension {axis}")


def _require(holds: Number, message: str) -> None:
    type_ = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    condition = ir.Operation.create("tensor.from_elements", results=[type_], operands=[holds.value]).result
    relax.assert_op(condition, format=message)


def _number(size: Size) -> Number:
    return number(as_i64(size).value) if isinstance(size, (int, ir.Value)) else number(relax.prim_value(size))
