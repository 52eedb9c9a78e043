# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move or copy the elements of one tensor, and the sums that undo a broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...bindings.ir import Value
from ...dialects import relax
from ...dialects.core.infos import TensorInfo, is_float
from ...dialects.core.symbols import equal
from ...emit import contraction, linalg, loops, tensors
from ...emit.broadcast import broadcast_generic, broadcast_plan, is_proven, require_broadcast
from ...emit.numbers import Number, Size, constant, select
from ...emit.parallel import share_places
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

# ---- broadcasts and their inverse ----


@register_legalize("relax.broadcast_to", by_types=True)
def broadcast_to(call: LegalizeCall) -> Legalized:
    (result,) = call.result_infos
    assert isinstance(result, TensorInfo)
    if call.operands[0].type == call.op.operation.results[0].type:
        return call.operands[0]
    own = call.info(call.operands[0])
    plan = broadcast_plan(own, result)

    def write(x: Value, output: Value) -> Value:
        if not is_proven(own, result):
            require_broadcast(x, linalg.sizes(output))
        return broadcast_generic([x], output, [plan], lambda value: value)

    return call.prim(write, call.operands[:1])


@register_legalize(["relax.collapse_sum_like", "relax.collapse_sum_to"], by_types=True)
def collapse_sum(call: LegalizeCall) -> Legalized:
    old, new = call.shape(call.operands[0]), call.result_shape()
    offset = len(old) - len(new)
    targets = [1] * offset + list(new)
    summed = [axis for axis in range(len(old)) if equal(old[axis], targets[axis]) is not True]
    if all(equal(targets[axis], 1) is True for axis in summed):
        inner = [axis for axis in summed if axis >= offset]
        # The sums come first, so that new dimensions cost nothing.
        total = relax.sum(call.operands[0], axis=[*range(offset), *inner]) if offset or inner else call.operands[0]
        wide = relax.expand_dims(total, axis=[axis - offset for axis in inner]) if inner else total
        # Equal sizes may be written in two ways.
        return call.cast(wide, call.result_infos[0])
    dtype = call.dtype(call.operands[0])
    return call.loops(lambda x, output: _sum_where_one(x, output, dtype), call.operands[:1])


def _sum_where_one(x: Value, output: Value, dtype: str) -> None:
    """Sum along the dimensions of size 1 in the output at run time, and along dimensions that it lacks."""
    sizes = [loops.size(x, axis) for axis in range(len(x.type.shape))]
    wide = "f64" if is_float(dtype) else dtype
    targets = [loops.size(output, axis) for axis in range(len(output.type.shape))]
    offset = len(sizes) - len(targets)
    require_broadcast(output, sizes)

    def write(*place: Number) -> None:
        ranges: list[tuple[Size, Size]] = [(0, size) for size in sizes[:offset]]
        for index, target, size in zip(place, targets, sizes[offset:], strict=True):
            is_one = target == 1
            ranges.append((select(is_one, 0, index), select(is_one, size, index + 1)))
        (total,) = loops.nest(ranges, add, constant(0, wide))
        loops.store(total.of(wide).to(dtype), output, *place)

    def add(*place: Number) -> Number:
        *at, total = place
        return contraction.add(total, loops.load(x, *at).of(dtype).to(wide))

    share_places(targets, write)


# ---- order ----


@register_legalize("relax.permute_dims", by_types=True)
def permute_dims(call: LegalizeCall) -> Legalized:
    old, new = call.shape(call.operands[0]), call.result_shape()
    rank = len(old)
    axes = [axis % rank for axis in (range(rank)[::-1] if call.op.axes is None else call.op.axes)]
    if axes == sorted(axes):
        return call.operands[0]
    if (moved := [axis for axis in axes if equal(old[axis], 1) is not True]) == sorted(moved):
        return relax.reshape(call.operands[0], relax.shape_expr(new))
    places = [axes.index(axis) for axis in range(rank)]
    return call.prim(lambda x, output: linalg.copy(x, output, places))


@register_legalize("relax.flip", by_types=True)
def flip(call: LegalizeCall) -> Legalized:
    flipped = call.op.axis % len(call.shape(call.operands[0]))

    def write(x: Value, output: Value) -> Value:
        last = linalg.size(x, flipped) - 1
        return linalg.moved(x, output, {flipped: lambda place: last - place})

    return call.prim(write)


# ---- copies ----


class _Part(NamedTuple):
    """Part of a dimension of the result."""

    #: Dimension of x to iterate over; None repeats elements.
    axis: int | None
    times: int = 1


@register_legalize("relax.repeat", by_types=True)
def repeat(call: LegalizeCall) -> Legalized:
    if call.op.axis is None:
        return relax.repeat(relax.flatten(call.operands[0]), repeats=call.op.repeats, axis=0)
    rank = len(call.shape(call.operands[0]))
    parts = [[_Part(axis)] for axis in range(rank)]
    parts[call.op.axis % rank].append(_Part(None, call.op.repeats))
    return _copies(call, parts)


@register_legalize("relax.tile", by_types=True)
def tile(call: LegalizeCall) -> Legalized:
    old, new = call.shape(call.operands[0]), call.result_shape()
    counts = (1,) * (len(new) - len(call.op.repeats)) + call.op.repeats
    added = len(new) - len(old)
    return _copies(
        call,
        [[_Part(None, count), *([_Part(axis - added)] if axis >= added else [])] for axis, count in enumerate(counts)],
    )


def _copies(call: LegalizeCall, parts: Sequence[Sequence[_Part]]) -> Legalized:
    """Repeat the first operand's elements: split the result's dimensions, then broadcast once."""
    old, new = call.shape(call.operands[0]), call.result_shape()
    if len(old) == len(new) and all(part.axis is not None or part.times == 1 for each in parts for part in each):
        return call.operands[0]

    def write(x: Value, output: Value) -> Value:
        if 0 in new:
            return output
        sizes = linalg.sizes(x)
        # A part with one element needs no dimension next to another part.
        kept = [[part for part in each if part.axis is not None or part.times > 1] or [_Part(None)] for each in parts]
        shapes = [[part.times if part.axis is None else sizes[part.axis] for part in each] for each in kept]
        split = tensors.split_all(output, shapes)
        order = [part.axis for each in kept for part in each]
        copied = linalg.copy(x, split, [order.index(axis) for axis in range(len(old))])
        return tensors.merge_all(copied, [len(each) for each in kept])

    return call.prim(write)
