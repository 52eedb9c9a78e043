# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes and cumulative sums. emit/axis_reduction.py defines the dtype in which floats are summed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ...bindings.ir import OpView, Value
from ...dialects import relax
from ...dialects.core.infos import bit_width, is_bool, is_float, is_unsigned
from ...emit import linalg
from ...emit.arithmetic import element
from ...emit.axis_reduction import Reduction, highest, lowest
from ...emit.conversions import accumulator, rounded, to_float, widened
from ...emit.loops import for_range, load, nest, scratch, store
from ...emit.numbers import Number, Size, constant, divide, intrinsic, maximum, minimum, select
from ...emit.parallel import share_ranges
from ...emit.sorting import around_axis, from_lower_key, lower_key
from ...passes.legalize.call import Body, LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

# Index of no element. As an unsigned number it is the maximum, so it is the identity element of the minimum.
NOWHERE = -1


def _reduce(call: LegalizeCall, body: Body) -> list[Value]:
    """Call a PrimFunc of `body(reduction, *outputs)`."""
    axes = _axes(call.op, linalg.rank_of(call.operands[0]))
    return call.prim(lambda x, *outputs: body(Reduction(x, axes), *outputs))


def _axes(op: OpView, rank: int) -> list[int]:
    """Return the axes to reduce, counted from the front; all axes without the attribute."""
    if op.axis is None:
        return list(range(rank))
    return [axis % rank for axis in ((op.axis,) if isinstance(op.axis, int) else op.axis)]


# ---- one combination ----
_COMBINATIONS: dict[str, tuple[Callable[..., Number], Callable[[str], float | int]]] = {
    "sum": (operator.add, lambda _: 0),
    "prod": (operator.mul, lambda _: 1),
    "max": (maximum, lowest),
    "min": (minimum, highest),
}
# The sum of booleans is true if any is true, their product if all are.
_OF_BOOLEANS = {"sum": "max", "prod": "min"}


@register_legalize([f"relax.{name}" for name in _COMBINATIONS], by_types=True)
def combination(call: LegalizeCall) -> Legalized:
    name, dtype = call.op.definition.name, call.dtype(call.operands[0])
    combine, start = _COMBINATIONS[_OF_BOOLEANS.get(name, name) if is_bool(dtype) else name]

    def body(reduction: Reduction, output: Value) -> Value:
        wide = reduction.sum_dtype if name == "sum" and is_float(dtype) else reduction.dtype
        # Combinations in the result's own dtype need no temporary memory.
        result = str(output.type.element_type)
        is_direct = wide == result and not call.op.keepdims

        def step(x: Number, total: Number) -> Number:
            return combine(to_float(widened(x), wide) if x.is_float else x.of(dtype), total)

        totals = output if is_direct else reduction.empty(wide)
        totals = reduction.fold(step, [reduction.whole], start(dtype), totals)
        return totals if is_direct else reduction.over_kept(lambda x: rounded(x, result), [totals], output)

    return _reduce(call, body)


# ---- means ----
@register_legalize("relax.mean", by_types=True)
def mean(call: LegalizeCall) -> Legalized:
    dtype = call.dtype(call.operands[0])
    if not is_float(dtype):
        return _reduce(call, lambda rows, output: _integer_mean(dtype, rows, output))
    return _reduce(call, lambda rows, output: rows.mean(widened, [rows.whole], output))


def _integer_mean(dtype: str, reduction: Reduction, output: Value) -> Value:
    """Sum in 64 bits and round the mean towards zero, like every integer division. The mean of no elements is 0."""
    wide = "ui64" if is_unsigned(dtype) else "i64"
    count = reduction.count()
    add = lambda x, total: x.of(dtype).to(wide) + total  # noqa: E731
    totals = reduction.fold(add, [reduction.whole], 0, reduction.empty(wide))
    return reduction.over_kept(lambda x: divide(x.of(wide), count).of(wide).to(dtype), [totals], output)


@register_legalize(["relax.variance", "relax.std"], by_types=True)
def spread(call: LegalizeCall) -> Legalized:
    dtype, is_root = call.dtype(call.operands[0]), call.op.definition.name == "std"
    if not is_float(dtype):
        return _integer_spread(call.op, call.operands[0], dtype)

    def body(reduction: Reduction, output: Value) -> Value:
        mean = reduction.mean(widened, [reduction.whole])
        if not is_root:
            return reduction.variance(mean, output)
        root = lambda x: rounded(intrinsic("sqrt", x), str(output.type.element_type))  # noqa: E731
        return reduction.over_kept(root, [reduction.variance(mean)], output)

    return _reduce(call, body)


def _integer_spread(op: OpView, x: Value, dtype: str) -> Value:
    """Compute in f64 for integers, then round towards zero once."""
    spread = relax.dialect.ops[op.definition.name](relax.astype(x, dtype="f64"), axis=op.axis, keepdims=op.keepdims)
    return relax.astype(spread, dtype=dtype)


# ---- positions ----
@register_legalize(["relax.argmax", "relax.argmin"], by_types=True)
def position(call: LegalizeCall) -> Legalized:
    """Return the first position of an extreme element, or of a NaN; -1 for no elements.

    The extreme is found first, then its position: two reductions of one value each are vectorized, a reduction of pairs
    is not.
    """
    dtype = call.dtype(call.operands[0])
    pick, start = (maximum, lowest) if call.op.definition.name == "argmax" else (minimum, highest)

    def body(reduction: Reduction, output: Value) -> Value:
        best = reduction.extreme(pick, start(dtype), dtype)
        return _first_place(reduction, lambda x, best: _is_same(widened(x), best), best, output, call.op.keepdims)

    return _reduce(call, body)


def _is_same(x: Number, best: Number) -> Number:
    return (x == best) | (x != x) if x.is_float else x == best


def _first_place(
    reduction: Reduction, is_found: Callable[[Number, Number], Number], value: Value, output: Value, keepdims: bool
) -> Value:
    """Return the first position with `is_found(element, wanted)`, with `wanted` over the other axes."""

    def step(x: Number, wanted: Number, first: Number) -> Number:
        return minimum(select(is_found(x, wanted), reduction.position(), NOWHERE).of("ui64"), first)

    reads = [reduction.whole, reduction.part(value)]
    if not keepdims:
        return reduction.fold(step, reads, NOWHERE, output)
    return reduction.over_kept(lambda x: x, [reduction.fold(step, reads, NOWHERE, reduction.empty("i64"))], output)


# ---- median ----
@register_legalize("relax.median", by_types=True)
def median(call: LegalizeCall) -> Legalized:
    """Return the lower median and its first position. The median of a row with a NaN is NaN.

    Without elements it is NaN, or the lowest integer, at -1. Nothing is sorted. Elements become keys, integers of the
    same order. The median's key is found bit by bit from the highest, by counting smaller elements. This takes a loop
    over the data per bit, and no memory.
    """
    dtype = call.dtype(call.operands[0])

    def body(reduction: Reduction, *outputs: Value) -> Value | list[Value]:
        key, result = _median_key(reduction, dtype), str(outputs[0].type.element_type)
        values = reduction.over_kept(lambda x: from_lower_key(x, dtype, result), [key], outputs[0])
        if len(outputs) == 1:
            return values
        is_median = lambda x, key: lower_key(x, dtype) == key  # noqa: E731
        return [values, _first_place(reduction, is_median, key, outputs[1], call.op.keepdims)]

    return _reduce(call, body)


def _median_key(reduction: Reduction, dtype: str) -> Value:
    """Return the medians' keys: the largest numbers with at most as many smaller elements as precede the median."""
    width = bit_width(reduction.dtype)
    ranks = _median_ranks(reduction)

    def with_next_bit(step: Number, known: Value) -> Value:
        bit = constant(1, f"i{width}") << (width - 1 - step).to(f"i{width}")

        def count(x: Number, known: Number, total: Number) -> Number:
            return total + lower_key(x, dtype).unsigned("<", known | bit).to("i64")

        def decide(known: Number, below: Number, rank: Number) -> Number:
            return select(below <= rank, known | bit, known)

        below = reduction.fold(count, [reduction.whole, reduction.part(known)], 0, reduction.empty("i64"))
        return reduction.over_kept(decide, [known, below, ranks], known)

    (key,) = for_range(0, width, with_next_bit, linalg.fill(0, reduction.empty(f"i{width}")))
    return key


def _median_ranks(reduction: Reduction) -> Value:
    """Return the number of elements before the median.

    It is 0 for a row with a NaN, which has the lowest key, and -1 for no elements.
    """
    rank = (reduction.count() - 1) >> 1
    ranks = linalg.fill(rank, reduction.empty("i64"))
    if not is_float(reduction.dtype):
        return ranks

    def step(x: Number, lowest_rank: Number) -> Number:
        return minimum(select(widened(x) != widened(x), 0, rank), lowest_rank)

    return reduction.fold_into(step, [reduction.whole], ranks)


# ---- cumulative sums ----

#: Totals of adjacent columns that are computed together and stay in a core's first-level cache.
_CHUNK = 256
#: Number of totals per nanosecond.
_AT_ONCE = 8

#: Combination and identity element of each operator.
STEPS: dict[str, tuple[Callable[[Number, Number], Number], int]] = {
    "cumsum": (operator.add, 0),
    "cumprod": (operator.mul, 1),
}


@register_legalize([f"relax.{name}" for name in STEPS], by_types=True)
def scan(call: LegalizeCall) -> Legalized:
    (data,) = call.operands
    name, source, result = call.op.definition.name, call.dtype(data), call.result_dtype()
    if call.op.axis is None:
        flat = relax.flatten(data)
        return relax.dialect.ops[name](flat, axis=0, dtype=call.op.dtype, exclusive=call.op.exclusive)
    rank = linalg.rank_of(data)
    axis, is_exclusive, wide = call.op.axis % rank, call.op.exclusive, accumulator(result)
    step, start = STEPS[name]

    def advanced(place: Sequence[Size], total: Number, buffers: Sequence[Value]) -> Number:
        x, output = buffers
        following = step(total, load(x, *place).of(source).to(wide))
        store((total if is_exclusive else following).of(wide).to(result), output, *place)
        return following

    def body(*buffers: Value) -> None:
        sizes = linalg.sizes(buffers[0])
        before, count, after = linalg.product(sizes[:axis]), sizes[axis], linalg.product(sizes[axis + 1 :])
        around = [around_axis(buffer, axis) for buffer in buffers]

        def rows(first: Number, many: Size) -> None:
            def along(row: Number) -> None:
                advance = lambda place, total: advanced([row, place, 0], total, around)  # noqa: E731
                for_range(0, count, advance, constant(start, wide))

            for_range(first, first + many, along)

        if rank == 1:
            # With its own indices, so that memory planning sees that the result may overwrite the input.
            for_range(0, count, lambda place, total: advanced([place], total, buffers), constant(start, wide))
            return
        if isinstance(after, int) and after == 1:
            share_ranges(before, count, rows)
            return
        chunks = (after + _CHUNK - 1) // _CHUNK

        def columns(first: Number, many: Size) -> None:
            scratch([_CHUNK], element(wide), lambda totals: for_range(first, first + many, lambda at: walk(at, totals)))

        def walk(chunk: Number, totals: Value) -> None:
            row, begin = chunk // chunks, chunk % chunks * _CHUNK
            width = minimum(after - begin, _CHUNK)

            def across(place: Number, column: Number) -> None:
                total = load(totals, column)
                store(advanced([row, place, begin + column], total, around), totals, column)

            for_range(0, width, lambda column: store(constant(start, wide), totals, column))
            nest([count, width], across)

        share_ranges(linalg.product([before, chunks]), linalg.product([count, _CHUNK // _AT_ONCE]), columns)

    return call.loops(body)
