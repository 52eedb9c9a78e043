# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that join tensors or split one, by copies from and to slices."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Value
from ...dialects import relax
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import equal
from ...emit import linalg, loops, tensors
from ...emit.numbers import Size
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


def _check_sizes(call: LegalizeCall, parts: Sequence[Value], output: Value, axes: Sequence[int | None]) -> None:
    """Check that the parts' dimensions match the output's, unless the types state it.

    `axes` contains the output's dimension for each dimension of a part; None for one of any size.
    """
    shape = call.result_shape()
    for index, part in enumerate(parts):
        known = call.shape(call.operands[index])
        for own, axis in enumerate(axes):
            if axis is not None and equal(known[own], shape[axis]) is not True:
                sizes = linalg.size(part, own), linalg.size(output, axis)
                loops.require_same(*sizes, f"dimension {own} of tensor #{index}")


@register_legalize("relax.concat", by_types=True)
def concat(call: LegalizeCall) -> Legalized:
    if len(call.operands) == 1:
        return call.operands[0]
    rank = len(call.result_shape())
    joined = call.op.axis % rank
    total = call.result_shape()[joined]
    if total is None or (len(call.operands) > _GROUP and not isinstance(total, int)):
        return _concat_in_groups(call, joined)

    def write(*parameters: Value) -> Value:
        *parts, output = parameters
        _check_sizes(call, parts, output, [None if axis == joined else axis for axis in range(rank)])
        # Here and below: MLIR has no slice that begins at a tensor's end.
        if linalg.is_nothing(linalg.sizes(output)):
            return output
        offset: Size = 0
        for part in parts:
            sizes = linalg.sizes(part)
            if linalg.is_nothing(sizes):
                continue
            offsets = [offset if axis == joined else 0 for axis in range(rank)]
            # Dynamic sizes are taken from the output, so that they are known to be whole, without gaps.
            room = [*zip(sizes, linalg.sizes(output), strict=True)]
            sizes = [own if isinstance(own, int) or axis == joined else all_ for axis, (own, all_) in enumerate(room)]
            place = tensors.slice_of(output, offsets, sizes)
            output = tensors.put_slice(linalg.copy(part, place), output, offsets, sizes=sizes)
            offset += sizes[joined]
        return output

    return call.prim(write)


# The time of bufferization grows with the cube of the number of slices of unknown size that a kernel writes.
_GROUP = 16


def _concat_in_groups(call: LegalizeCall, joined: int) -> Value:
    """Join groups, then their results. This needs another copy but compiles in linear time.

    If the sum of all sizes would be too large for an expression, the groups' sizes are read at run time.
    """
    is_open = call.result_shape()[joined] is None
    step = _GROUP if len(call.operands) > _GROUP else 1
    parts = []
    for start in range(0, len(call.operands), step):
        group = call.operands[start : start + step]
        part = relax.concat(group, axis=call.op.axis) if len(group) > 1 else group[0]
        parts.append(_with_new_size(part, joined, call) if is_open else part)
    return call.cast(relax.concat(parts, axis=call.op.axis), call.result_infos[0])


def _with_new_size(value: Value, axis: int, call: LegalizeCall) -> Value:
    sizes = list(call.shape(value))
    (sizes[axis],) = call.new_symbols(1)
    return call.cast(value, TensorInfo(tuple(sizes), call.dtype(value)))


@register_legalize("relax.stack", by_types=True)
def stack(call: LegalizeCall) -> Legalized:
    rank = len(call.result_shape())
    new = call.op.axis % rank
    old = [axis for axis in range(rank) if axis != new]

    def write(*parameters: Value) -> Value:
        *parts, output = parameters
        _check_sizes(call, parts, output, old)
        sizes = linalg.sizes(output)
        if linalg.is_nothing(sizes):
            return output
        sizes[new] = 1
        for index, part in enumerate(parts):
            offsets = [index if axis == new else 0 for axis in range(rank)]
            place = tensors.slice_of(output, offsets, sizes)
            output = tensors.put_slice(linalg.copy(part, place, old), output, offsets)
        return output

    return call.prim(write)


@register_legalize("relax.split", by_types=True)
def split(call: LegalizeCall) -> Legalized:
    if len(call.result_infos) == 1:
        return call.operands[0]
    rank = len(call.result_shape())
    axis = call.op.axis % rank

    def write(x: Value, *outputs: Value) -> list[Value]:
        offset: Size = 0
        copies, whole = [], linalg.sizes(x)
        for output in outputs:
            sizes = linalg.sizes(output)
            offsets = [offset if index == axis else 0 for index in range(rank)]
            is_there = not linalg.is_nothing(sizes)
            # Dynamic sizes are taken from x, so that they are known to be whole, without gaps.
            part = [sizes[position] if position == axis else size for position, size in enumerate(whole)]
            copies.append(linalg.copy(tensors.slice_of(x, offsets, part), output) if is_there else output)
            # The parts have their full sizes, which add up to x.
            offset += sizes[axis]
        return copies

    return call.prim(write)


@register_legalize("relax.meshgrid", by_types=True)
def meshgrid(call: LegalizeCall) -> Legalized:
    axes = list(range(len(call.operands)))
    if call.op.indexing == "xy":
        axes[:2] = reversed(axes[:2])

    def write(*parameters: Value) -> list[Value]:
        inputs, outputs = parameters[: len(axes)], parameters[len(axes) :]
        return [
            linalg.copy(x, output, [axis] if linalg.rank_of(x) else [])
            for x, output, axis in zip(inputs, outputs, axes, strict=True)
        ]

    return call.prim(write)
