# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padding: two copies for a constant, otherwise the border is read at places that the mode computes.

Modes repeat like NumPy's if padding is wider than the data. TVM's modes would read out of range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.infos import is_bool, is_float
from ...emit import linalg, loops
from ...emit.linalg import copy
from ...emit.numbers import Number, Size, as_index, constant, maximum, minimum, operation, select
from ...emit.parallel import are_steps_apart
from ...emit.tensors import put_slice, slice_of
from ...emit.windows import Border, borders, surrounded
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.nn.pad", by_types=True)
def pad(call: LegalizeCall) -> Legalized:
    before, after, mode = call.op.pad_width[::2], call.op.pad_width[1::2], call.op.pad_mode
    if mode != "constant":
        body = lambda data, output: _repeat(data, output, before, after, _PLACES[mode])  # noqa: E731
        return call.prim(body)
    dtype, value = call.dtype(call.operands[0]), call.op.pad_value
    if not is_float(dtype) and not math.isfinite(value):
        return call.decline(f"elements of type {dtype} cannot be {value}")
    value = bool(value) if is_bool(dtype) else value

    def with_border(data: Value, output: Value) -> Value:
        write = surrounded if are_steps_apart() else _surround
        return write(data, constant(value, dtype), before, after, output)

    return call.prim(with_border)


# ---- by a value ----
def _surround(data: Value, value: Number, before: Sequence[int], after: Sequence[int], output: Value) -> Value:
    """Fill the output with the value, then copy the remaining data into it."""
    filled = linalg.fill(value, output)
    own, room = linalg.sizes(data), linalg.sizes(output)
    sources, targets, sizes = [], [], []
    for size, space, low, high in zip(own, room, before, after, strict=True):
        sources.append(_limit_offset(max(-low, 0), size))
        targets.append(_limit_offset(max(low, 0), space))
        is_whole = low >= 0 and high >= 0
        sizes.append(size if is_whole else maximum(space + (-max(low, 0) - max(high, 0)), 0))
    if linalg.is_nothing(sizes):
        return filled
    part = slice_of(data, sources, sizes)
    return put_slice(copy(part, slice_of(filled, targets, sizes)), filled, targets, sizes=sizes)


def _limit_offset(offset: int, size: Size) -> Size:
    """Limit an offset to a dimension's size."""
    return minimum(offset, size) if offset else 0


# ---- by elements of the data ----
def _repeat(
    data: Value, output: Value, before: Sequence[int], after: Sequence[int], place: Callable[[Number, Number], Number]
) -> Value:
    sizes = linalg.sizes(data)
    for axis, size in enumerate(sizes):
        if not isinstance(size, int) and max(before[axis], after[axis]) > 0:
            loops.require(size > 0, "ValueError", f"axis {axis} is empty: there is nothing to pad it with")
    known = [as_index(size) for size in sizes]
    padded = [axis for axis in range(len(sizes)) if before[axis] or after[axis]]
    read_at = {axis: lambda index, axis=axis: place(index - before[axis], known[axis]) for axis in padded}
    if min((0, *before, *after)) < 0 or are_steps_apart():
        return linalg.moved(data, output, read_at)
    around = linalg.sizes(output)
    # Each place along an axis is computed once, since it takes a division.
    tables = {axis: _table(around[axis], read_at[axis]) for axis in padded}
    whole = put_slice(copy(data, slice_of(output, before, sizes)), output, before, sizes=sizes)
    for border in borders(sizes, before, after, around):
        part = slice_of(whole, border.offsets, border.sizes)
        whole = put_slice(_read_at(data, part, border, tables), whole, border.offsets, sizes=border.sizes)
    return whole


def _table(size: Size, place: Callable[[Number], Number]) -> Value:
    """Return a table of a function for each index below a size."""
    return linalg.parallel([], linalg.empty([size], ir.IndexType.get()), lambda: place(linalg.index(0)))


def _read_at(data: Value, part: Value, border: Border, tables: Mapping[int, Value]) -> Value:
    """Read a part of the border at the places in the tables.

    Along the axes before its own it is adjacent to the data.
    """
    axes = [axis for axis in tables if axis >= border.axis]
    places = [slice_of(tables[axis], [border.offsets[axis]], [border.sizes[axis]]) for axis in axes]

    def read(*found: Number) -> Number:
        at = [linalg.index(axis) for axis in range(linalg.rank_of(part))]
        for axis, place in zip(axes, found, strict=True):
            at[axis] = place
        return linalg.extract(data, at)

    return linalg.parallel(places, part, read, [[axis] for axis in axes])


def _nearest(index: Number, size: Number) -> Number:
    last = select(index < size, index, size - 1)
    return select(last < 0, 0, last)


def _modulo(index: Number, divisor: Number) -> Number:
    """Return the nonnegative remainder."""
    rest = operation("arith.remsi", [index, divisor], index.type)
    return select(rest < 0, rest + divisor, rest)


def _mirror_index(index: Number, size: Number) -> Number:
    """Mirror an index without repeating the ends. A single element is always repeated."""
    period = (size - 1) * 2
    rest = _modulo(index, select(period == 0, 1, period))
    return select(rest < size, rest, period - rest)


_PLACES: dict[str, Callable[[Number, Number], Number]] = {
    "reflect": _mirror_index,
    "replicate": _nearest,
    "circular": _modulo,
}
