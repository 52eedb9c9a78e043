# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that write elements at indices sequentially: the last of several writes to a place wins.

An index out of range raises IndexError; a negative index counts from the end. All indices are checked before the first
write.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ...bindings.ir import OpView, Value
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.infos import bit_width, is_bool, is_float, is_unsigned
from ...emit import linalg, loops
from ...emit.broadcast import broadcast_sizes, load_broadcast, require_broadcast
from ...emit.indices import as_position, checked_position, require_index, require_indices, slice_range
from ...emit.loops import load, nest, require_at_most, require_same, scratch, size, sizes, store
from ...emit.numbers import Number, Size, as_index, floor_divide, maximum, minimum
from ...emit.tensors import put_slice, slice_of
from ...passes.legalize.call import Body, LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from ...passes.legalize.scalar_inputs import ScalarInputs
from .legalize_indexing import depth_of

#: Combines the old value of a place with a written value.
Combine = Callable[[Number, Number], Number]

_ARITHMETIC: dict[str, Callable[..., Number]] = {
    "add": operator.add,
    "mul": operator.mul,
    "max": maximum,
    "min": minimum,
}
_OF_BOOL = {"add": operator.or_, "max": operator.or_, "mul": operator.and_, "min": operator.and_}


def combine_of(reduction: str, dtype: str) -> Combine:
    if reduction == "update":
        return lambda old, new: new
    if is_bool(dtype):
        return _OF_BOOL[reduction]
    return lambda old, new: _ARITHMETIC[reduction](old.of(dtype), new)


def wide_dtype(dtype: str, reduction: str) -> str:
    """Return the dtype in which the updates of one place are combined without losing digits."""
    if is_float(dtype):
        return "f32" if bit_width(dtype) < 32 and reduction in ("add", "mul", "mean") else dtype
    if reduction == "mean":
        return "ui64" if is_unsigned(dtype) else "i64"
    return dtype


def in_wide(op: OpView, operands: Sequence[Value], names: Sequence[str], dtype: str, wide: str) -> Value:
    """Run the operation on operands of a wider dtype, and convert the result back."""
    given = by_name(op, operands)
    for name in names:
        given[name] = relax.astype(given[name], dtype=wide)
    attributes = {name: getattr(op, name) for name in op.definition.attrs}
    return relax.astype(op.definition(**given, **attributes), dtype=dtype)


def scattered(call: LegalizeCall, names: Sequence[str], way: str, body: Body) -> Legalized:
    """Run `body` on memrefs, or the operator in a wide dtype if updates are combined in one.

    `names` are the operands with the data's dtype; `way` is the combination of updates of one place.
    """
    dtype = call.dtype(call.operands[0])
    if is_bool(dtype) and way == "mean":
        return call.decline("there is no mean of booleans; convert with relax.astype")
    wide = wide_dtype(dtype, way)
    return call.loops(body) if wide == dtype else in_wide(call.op, call.operands, names, dtype, wide)


def check_tuples(data: Value, indices: Value, updates: Value, depth: int) -> tuple[list[Size], list[Size]]:
    """Check the sizes of scatter_nd. Return the sizes of its updates, and of each update."""
    outer, inner = sizes(indices)[:-1], sizes(data)[depth:]
    for axis, (one, other) in enumerate(zip(sizes(updates), [*outer, *inner], strict=True)):
        require_same(one, other, f"updates, axis {axis}")
    return outer, inner


def _change(memref: Value, at: Sequence[Number], value: Number, combine: Combine) -> None:
    store(combine(load(memref, *at), value), memref, *at)


@register_legalize("relax.scatter_elements")
def scatter_elements(call: LegalizeCall) -> Legalized:
    """Scatter elements along an axis.

    A mean includes the original element and all updates. For integers the mean is rounded down.
    """
    dtype, index_dtype, reduction = call.dtype(call.operands[0]), call.dtype(call.operands[1]), call.op.reduction
    combine = combine_of("add" if reduction == "mean" else reduction, dtype)

    def body(data: Value, indices: Value, updates: Value, output: Value) -> None:
        axis = call.op.axis % len(data.type.shape)
        limit = size(data, axis)
        check_elements(axis, data, indices, updates)
        require_indices(indices, index_dtype, axis, limit)
        loops.copy(data, output)

        def write(*at: Number, counts: Value | None = None) -> None:
            place = checked_position(load(indices, *at), index_dtype, limit)
            target = [*at[:axis], place, *at[axis + 1 :]]
            _change(output, target, load(updates, *at), combine)
            if counts is not None:
                store(load(counts, *target) + 1, counts, *target)

        def write_means(counts: Value) -> None:
            nest(sizes(output), lambda *at: store(1, counts, *at))
            nest(sizes(indices), lambda *at: write(*at, counts=counts))
            nest(sizes(output), lambda *at: _change(output, at, load(counts, *at), quotient(dtype)))

        if reduction == "mean":
            scratch(sizes(output), ir.IntegerType.get_signless(64), write_means)
        else:
            nest(sizes(indices), write)

    return scattered(call, ("data", "updates"), reduction, body)


def check_elements(axis: int, data: Value, indices: Value, updates: Value) -> None:
    """Check the sizes of scatter_elements."""
    for index in range(len(data.type.shape)):
        require_same(sizes(updates)[index], sizes(indices)[index], f"updates and indices, axis {index}")
        if index != axis:
            require_at_most(sizes(indices)[index], sizes(data)[index], f"indices, axis {index}")


def quotient(dtype: str) -> Combine:
    divide = operator.truediv if is_float(dtype) else floor_divide
    return lambda total, count: divide(total.of(dtype), count.to(dtype))


@register_legalize("relax.scatter_nd")
def scatter_nd(call: LegalizeCall) -> Legalized:
    dtype, index_dtype, reduction = call.dtype(call.operands[0]), call.dtype(call.operands[1]), call.op.reduction
    depth = depth_of(call.operands[1], call)
    combine = combine_of(reduction, dtype)

    def body(data: Value, indices: Value, updates: Value, output: Value) -> None:
        outer, inner = check_tuples(data, indices, updates, depth)
        limits = [size(data, axis) for axis in range(depth)]
        _require_tuples(indices, index_dtype, limits)
        loops.copy(data, output)

        def write(*at: Number) -> None:
            target = [
                checked_position(load(indices, *at, index), index_dtype, limit) for index, limit in enumerate(limits)
            ]
            nest(inner, lambda *rest: _change(output, [*target, *rest], load(updates, *at, *rest), combine))

        nest(outer, write)

    return scattered(call, ("data", "updates"), reduction, body)


def _require_tuples(indices: Value, dtype: str, limits: Sequence[Number]) -> None:
    """Raise IndexError unless each tuple in the last dimension is a valid place."""
    *outer, _ = sizes(indices)

    def check(*at: Number) -> None:
        for axis, limit in enumerate(limits):
            require_index(as_position(load(indices, *at, axis), dtype), axis, limit)

    nest(outer, check)


@register_legalize("relax.index_put")
def index_put(call: LegalizeCall) -> Legalized:
    dtype, dtypes = call.dtype(call.operands[0]), [call.dtype(value) for value in call.operands[1:-1]]
    reduction = "add" if call.op.accumulate else "update"
    combine = combine_of(reduction, dtype)

    def body(data: Value, *others: Value) -> None:
        *indices, values, output = others
        outer, inner = broadcast_sizes(indices), sizes(data)[len(indices) :]
        require_broadcast(values, [*outer, *inner])
        limits = [size(data, axis) for axis in range(len(indices))]
        for axis, (memref, index_dtype, limit) in enumerate(zip(indices, dtypes, limits, strict=True)):
            require_indices(memref, index_dtype, axis, limit)
        loops.copy(data, output)

        def write(*at: Number) -> None:
            target = [
                checked_position(load_broadcast(memref, at), index_dtype, limit)
                for memref, index_dtype, limit in zip(indices, dtypes, limits, strict=True)
            ]

            def write_inner(*rest: Number) -> None:
                _change(output, [*target, *rest], load_broadcast(values, [*at, *rest]), combine)

            nest(inner, write_inner)

        nest(outer, write)

    return scattered(call, ("data", "values"), reduction, body)


@register_legalize("relax.slice_scatter")
def slice_scatter(call: LegalizeCall) -> Legalized:
    """Write src to a slice as in Python.

    Raises ValueError for a step that is not positive, and if src does not have the slice's size.
    """
    target, source, *bounds = call.operands
    scalars = ScalarInputs(call, bounds)

    def body(data: Value, part: Value, *others: Value) -> Value:
        *given, output = others
        rank = linalg.rank_of(data)
        axis = call.op.axis % rank
        values = iter(given)
        begin, end, step = (as_index(next(values)) if number is None else int(number) for number in scalars.known)
        if not isinstance(step, int):
            loops.require(step > 0, "ValueError", "the step of the slice must be positive, got {}", step)
        start, count = slice_range(begin, end, step, sizes(data)[axis])
        for index, (one, other) in enumerate(zip(sizes(part), sizes(data), strict=True)):
            require_same(one, count if index == axis else other, f"src and the slice, axis {index}")
        starts: list[Size] = [0] * rank
        strides: list[Size] = [1] * rank
        starts[axis], strides[axis] = start, step
        whole = linalg.copy(data, output)
        if linalg.is_nothing(sizes(part)):
            return whole
        written = linalg.copy(part, slice_of(whole, starts, sizes(part), strides))
        return put_slice(written, whole, starts, strides)

    return call.prim(body, [target, source, *scalars.inputs])
