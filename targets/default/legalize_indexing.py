# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read elements at indices.

An index out of range raises IndexError; a negative index counts from the end. Indices are checked first, so that the
reads are a loop nest without branches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from ...bindings.ir import Type, Value
from ...bindings.mlir import ir
from ...bindings.rewriting import Decline
from ...dialects import relax
from ...dialects.core.infos import ScalarInfo, TensorInfo, is_unsigned
from ...emit import linalg, loops
from ...emit.broadcast import broadcast_generic, broadcast_plan, broadcast_size, broadcast_sizes
from ...emit.indices import as_position, checked_position, extremes, require_index, require_indices, slice_range
from ...emit.loops import require_at_most, require_same
from ...emit.numbers import (
    Number,
    Size,
    as_index,
    constant,
    floor_remainder,
    maximum,
    minimum,
    number,
    remainder,
    select,
)
from ...emit.parallel import are_steps_apart
from ...emit.tensors import slice_of
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

#: Dimensions of a result that an input's own dimensions correspond to.
Dims = Sequence[int | None] | None


def _read(inputs: Sequence[Value], dims: Sequence[Dims], output: Value, element: Callable[..., Number]) -> Value:
    """Compute each element of the output as `element(at, *numbers)`, `at` being the indices of the loops."""
    axes = range(linalg.rank_of(output))
    return linalg.parallel(inputs, output, lambda *given: element([linalg.index(axis) for axis in axes], *given), dims)


def _require(indices: Value, dtype: str, axis: int, size: Number) -> None:
    """Check all indices in advance. If steps run apart, each thread checks its own, without a barrier."""
    if not (are_steps_apart() and isinstance(indices.type, ir.RankedTensorType)):
        require_indices(indices, dtype, axis, size)


def _position(value: Number, dtype: str, size: Size, axis: int) -> Number:
    """Return the place of an index, which has been checked or is checked here."""
    if are_steps_apart():
        require_index(as_position(value, dtype), axis, as_index(size))
    return checked_position(value, dtype, size)


# ---- take ----


@register_legalize("relax.take", by_types=True)
def take(call: LegalizeCall) -> Legalized:
    """Take elements at indices.

    Mode "fast" checks the indices; "clip" and "wrap" are NumPy's. Mode "nan" yields NaN for an index out of range,
    including negative ones.
    """
    data, indices = call.operands
    rank = len(call.shape(data))
    if call.op.axis is None and rank != 1:
        return relax.take(relax.flatten(data), indices, axis=0, mode=call.op.mode)
    axis = 0 if call.op.axis is None else call.op.axis % rank
    is_scalar = isinstance(call.info(indices), ScalarInfo)
    count = 0 if is_scalar else len(call.shape(indices))
    mode, dtype = call.op.mode, call.dtype(indices)

    def body(x: Value, value: Value, output: Value) -> Value:
        size = linalg.size(x, axis)
        _check_taken(mode, value, dtype, axis, linalg.sizes(x)[axis])

        def element(at: list[Number], *scalars: Number) -> Number:
            index = scalars[0] if scalars else number(value)
            read = lambda place: linalg.extract(x, [*at[:axis], place, *at[axis + count :]])  # noqa: E731
            if mode == "nan":
                return _or_nan(read, as_position(index, dtype), size, x.type.element_type)
            return read(_place(mode, index, dtype, size, axis))

        inputs, dims = ([], []) if is_scalar else ([value], [range(axis, axis + count)])
        return _read(inputs, dims, output, element)

    return call.prim(body)


def _check_taken(mode: str, indices: Value, dtype: str, axis: int, size: int | Value) -> None:
    if mode == "fast":
        _require(indices, dtype, axis, as_index(size))
    if mode not in ("clip", "wrap"):
        return
    # An empty axis has no place that an index could be mapped to.
    if isinstance(size, int) and size > 0:
        return
    can_read = as_index(size) >= 1
    for count in loops.sizes(indices) if isinstance(indices.type, ir.RankedTensorType) else []:
        can_read = can_read | (as_index(count) < 1)
    loops.require(can_read, "IndexError", f"cannot take elements along axis {axis}, which has none")


def _place(mode: str, index: Number, dtype: str, size: Number, axis: int) -> Number:
    if mode == "fast":
        return _position(index, dtype, size, axis)
    if mode == "wrap":
        # In 64 bits, because devices have narrower indices.
        wide, divide = ("ui64", remainder) if is_unsigned(dtype) else ("i64", floor_remainder)
        return divide(index.of(dtype).to(wide), size.to("i64").of(wide)).of("i64").to("index")
    return minimum(maximum(as_position(index, dtype), 0), size - 1)


def _or_nan(read: Callable[[Number], Number], place: Number, size: Number, element: Type) -> Number:
    # As unsigned numbers, negative places are large.
    return loops.when(place.unsigned("<", size), lambda: read(place), lambda: constant(math.nan, element), [element])[0]


# ---- slices ----


@register_legalize("relax.strided_slice", by_types=True)
def strided_slice(call: LegalizeCall) -> Legalized:
    rank = len(call.shape(call.operands[0]))
    op = call.op
    strides = op.strides or (1,) * len(op.axes)
    bounds = {
        axis % rank: three for axis, *three in zip(call.op.axes, call.op.begin, call.op.end, strides, strict=True)
    }
    steps = [bounds[axis][2] if axis in bounds else 1 for axis in range(rank)]
    expressions = [bound for bound in (*op.begin, *op.end) if not isinstance(bound, int)]
    inferred = call.result_shape()

    def ranges(x: Value, values: Sequence[Value]) -> dict[int, tuple[Size, Size]]:
        """Return the start and the number of elements of each sliced axis."""
        known = dict(zip(expressions, map(as_index, values), strict=True))
        return {
            axis: slice_range(known.get(begin, begin), known.get(end, end), stride, loops.sizes(x)[axis])
            for axis, (begin, end, stride) in bounds.items()
        }

    def unknown_sizes(x: Value, *given: Number) -> list[Size]:
        found = ranges(x, given)
        return [found[axis][1] for axis, size in enumerate(inferred) if size is None]

    def body(x: Value, *parameters: Value) -> Value:
        *given, output = parameters
        sizes = loops.sizes(output)
        if linalg.is_nothing(sizes):
            return output
        starts: list[Size] = [0] * rank
        for axis, (start, count) in ranges(x, given).items():
            starts[axis] = start
            # Without the assumption that bounds are in range, inference has computed the size by the same formula.
            if call.op.assume_inbound:
                require_same(count, sizes[axis], f"the slice of axis {axis} leaves the tensor")
        if min(steps, default=1) > 0:
            # Dynamic sizes of unsliced axes are taken from x, so that they are known to be whole, without gaps.
            part = [sizes[axis] if axis in bounds else size for axis, size in enumerate(linalg.sizes(x))]
            return linalg.copy(slice_of(x, starts, part, steps), output)
        return _read_strided(x, starts, steps, output)

    inputs = [call.operands[0], *map(call.symbol, expressions)]
    return call.prim(body, inputs, sizes=unknown_sizes if None in inferred else None)


def _read_strided(x: Value, starts: Sequence[Size], strides: Sequence[Size], output: Value) -> Value:
    """Read elements of x from `starts` on, with strides of either sign; numbers or indices."""
    lines = enumerate(zip(starts, strides, strict=True))
    places = {axis: lambda index, start=start, step=step: index * step + start for axis, (start, step) in lines}
    return linalg.moved(x, output, places)


@register_legalize("relax.dynamic_strided_slice", by_types=True)
def dynamic_strided_slice(call: LegalizeCall) -> Legalized:
    """Slice with dynamic bounds. A stride of 0 raises ValueError, as in Python."""
    rank = len(call.shape(call.operands[0]))
    dtypes = [call.dtype(value) for value in call.operands[1:]]

    def slice_along(axis: int, size: Size, lists: Sequence[Value]) -> tuple[Size, Size, Number]:
        """Return the start, the number of elements and the stride."""
        pairs = zip(lists, dtypes, strict=True)
        begin, end, stride = (as_position(loops.load(values, axis), dtype) for values, dtype in pairs)
        loops.require(stride != 0, "ValueError", f"the stride of axis {axis} is 0")
        return (*slice_range(begin, end, stride, size), stride)

    def check(lists: Sequence[Value]) -> None:
        for values in lists:
            require_same(loops.sizes(values)[0], rank, "bounds and strides are to be one for each dimension")

    def body(x: Value, *others: Value) -> Value:
        *lists, output = others
        check(lists)
        known = loops.sizes(x)
        if are_steps_apart():
            # Each thread reads the bounds itself, because the host would wait for each number.
            def place(axis: int, index: Number) -> Number:
                start, _, stride = slice_along(axis, known[axis], lists)
                return index * stride + start

            return linalg.moved(x, output, {axis: partial(place, axis) for axis in range(rank)})
        found = [slice_along(axis, size, lists) for axis, size in enumerate(known)]
        return _read_strided(x, [start for start, _, _ in found], [stride for _, _, stride in found], output)

    def sizes(x: Value, *lists: Value) -> list[Size]:
        check(lists)
        return [slice_along(axis, size, lists)[1] for axis, size in enumerate(loops.sizes(x))]

    return call.prim(body, sizes=sizes)


# ---- gathering ----


@register_legalize("relax.gather_elements", by_types=True)
def gather_elements(call: LegalizeCall) -> Legalized:
    rank = len(call.shape(call.operands[0]))
    axis, dtype = call.op.axis % rank, call.dtype(call.operands[1])

    def body(data: Value, indices: Value, output: Value) -> Value:
        for other in (position for position in range(rank) if position != axis):
            require_at_most(loops.sizes(indices)[other], loops.sizes(data)[other], f"indices, axis {other}")
        size = linalg.size(data, axis)
        _require(indices, dtype, axis, size)

        def element(at: list[Number], index: Number) -> Number:
            return linalg.extract(data, [*at[:axis], _position(index, dtype, size, axis), *at[axis + 1 :]])

        return _read([indices], [None], output, element)

    return call.prim(body)


def depth_of(indices: Value, call: LegalizeCall) -> int:
    """Return the number of indices in each tuple of the last dimension. Raises Decline if it is dynamic."""
    if not isinstance(depth := call.shape(indices)[-1], int):
        raise Decline(f"the last dimension of the indices ({depth}) must be a number")
    return depth


@register_legalize("relax.gather_nd", by_types=True)
def gather_nd(call: LegalizeCall) -> Legalized:
    batch, dtype = call.op.batch_dims, call.dtype(call.operands[1])
    depth = depth_of(call.operands[1], call)

    def body(data: Value, indices: Value, output: Value) -> Value:
        places = linalg.rank_of(indices) - 1
        for axis in range(batch):
            require_same(loops.sizes(data)[axis], loops.sizes(indices)[axis], f"batch dimension {axis}")
        if linalg.is_nothing(loops.sizes(indices)[:-1]):
            return output
        limits = [linalg.size(data, batch + index) for index in range(depth)]
        columns = [_column(indices, index) for index in range(depth)]
        for position, (column, limit) in enumerate(zip(columns, limits, strict=True)):
            _require(column, dtype, batch + position, limit)

        def element(at: list[Number], *scalars: Number) -> Number:
            pairs = enumerate(zip(scalars, limits, strict=True), batch)
            found = [_position(index, dtype, limit, axis) for axis, (index, limit) in pairs]
            return linalg.extract(data, [*at[:batch], *found, *at[places:]])

        return _read(columns, [[*range(places), None]] * depth, output, element)

    return call.prim(body)


def _column(indices: Value, position: int) -> Value:
    """Return one index of each tuple. The last dimension stays, with size 1."""
    *outer, _ = loops.sizes(indices)
    return slice_of(indices, [0] * ((len(outer) + 1) - 1) + [position], [*outer, 1])


@register_legalize("relax.index_tensor", by_types=True)
def index_tensor(call: LegalizeCall) -> Legalized:
    shape, count = call.result_shape(), len(call.operands) - 1
    common = len(shape) - (len(call.shape(call.operands[0])) - count)
    dtypes = [call.dtype(value) for value in call.operands[1:]]
    outer = TensorInfo(shape[:common], call.result_dtype())
    plans = [broadcast_plan(call.info(value), outer) for value in call.operands[1:]]

    def body(data: Value, *others: Value) -> Value:
        *indices, output = others
        limits = [linalg.size(data, axis) for axis in range(count)]
        broadcast_sizes(indices)
        for axis, (tensor, dtype, limit) in enumerate(zip(indices, dtypes, limits, strict=True)):
            _require(tensor, dtype, axis, limit)

        def element(*scalars: Number) -> Number:
            found = list(map(_position, scalars, dtypes, limits, range(count)))
            return linalg.extract(data, [*found, *map(linalg.index, range(common, len(shape)))])

        return broadcast_generic(indices, output, plans, element)

    def sizes(data: Value, *indices: Value) -> list[Number]:
        return [broadcast_size(indices, plans, axis) for axis, dim in enumerate(shape) if dim is None]

    return call.prim(body, sizes=sizes if None in shape else None)


@register_legalize("relax.reverse_sequence", by_types=True)
def reverse_sequence(call: LegalizeCall) -> Legalized:
    """Reverse the sequences. A length below 2 reverses nothing; one beyond the sequence raises ValueError."""
    rank = len(call.shape(call.operands[0]))
    sequence, batch = call.op.seq_axis % rank, call.op.batch_axis % rank
    dtype = call.dtype(call.operands[1])

    def body(data: Value, lengths: Value, output: Value) -> Value:
        size = linalg.size(data, sequence)
        require_same(loops.sizes(lengths)[0], loops.sizes(data)[batch], "lengths and batches")

        def check(length: Number) -> None:
            message = "length {} is larger than the sequence, which has {}"
            loops.require(length <= size, "ValueError", message, length, size)

        if not are_steps_apart():
            check(extremes(lengths, dtype)[1])

        def element(at: list[Number], given: Number) -> Number:
            length = as_position(given, dtype)
            if are_steps_apart():
                check(length)
            place = select(at[sequence] < length, length - 1 - at[sequence], at[sequence])
            return linalg.extract(data, [*at[:sequence], place, *at[sequence + 1 :]])

        return _read([lengths], [[batch]], output, element)

    return call.prim(body)
