# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search operators: places in sorted boundaries, nonzero elements, classes sampled by probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...bindings.ir import Value
from ...dialects.core.infos import TensorInfo, bit_width, describe, is_float, is_unsigned
from ...emit import linalg, loops
from ...emit.axis_reduction import Reduction
from ...emit.conversions import widened
from ...emit.indices import as_position
from ...emit.loops import load, nest, repeat_while, require, require_same, size, sizes, store, when
from ...emit.numbers import Number, as_index
from ...emit.parallel import share_places
from ...emit.sorting import first_not, precedes
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.bucketize")
def bucketize(call: LegalizeCall) -> Legalized:
    """Return the places as NumPy's searchsorted. NaN comes after every number. Unsorted boundaries yield some place."""
    dtypes = [call.dtype(value) for value in call.operands]
    common, result = _common(*dtypes), call.dtype(call.op.results[0])
    right = call.op.right

    def body(x: Value, boundaries: Value, output: Value) -> Value:
        count = as_index(loops.sizes(boundaries)[0])

        def is_before(position: Number, value: Number) -> Number:
            """Check whether the value's place is behind the boundary at a position."""
            boundary = loops.load(boundaries, position).of(dtypes[1]).to(common)
            return ~precedes(value, boundary, common) if right else precedes(boundary, value, common)

        def step(given: Number) -> Number:
            value = given.of(dtypes[0]).to(common)
            return first_not(0, count, lambda position: is_before(position, value)).to(result)

        return linalg.parallel([x], output, step)

    return call.prim(body)


def _common(one: str, other: str) -> str:
    """Return the common dtype for comparisons; as in NumPy, f64 for an integer and a float."""
    if one == other:
        return one
    if is_float(one) and is_float(other):
        wider = max(one, other, key=bit_width)
        # The common dtype of f16 and bf16 is wider than both.
        return wider if bit_width(wider) >= 32 else "f32"
    if is_float(one) or is_float(other):
        return "f64"
    if is_unsigned(one) == is_unsigned(other):
        return max(one, other, key=bit_width)
    unsigned, signed = (one, other) if is_unsigned(one) else (other, one)
    if bit_width(unsigned) < bit_width(signed):
        return signed
    return "i64" if bit_width(unsigned) < 64 else "f64"


# ---- nonzero elements ----


@register_legalize("relax.nonzero")
def nonzero(call: LegalizeCall) -> Legalized:
    info = call.info(call.operands[0])
    if not isinstance(info, TensorInfo) or info.shape is None:
        return call.decline(f"the rank of the operand ({describe(info)}) is not known")
    rank = len(info.shape)

    def write(indices: list[Number], out: Value, column: Number) -> None:
        # A scalar counts as a row of one element.
        for row, place in enumerate(indices or [as_index(0)]):
            store(place.to("i64"), out, row, column)

    def body(data: Value, out: Value) -> None:
        def visit(*at: Number) -> Number:
            *indices, column = at
            found = widened(load(data, *indices)) != 0
            when(found, lambda: write(indices, out, column))
            return column + found.to("index")

        nest([size(data, axis) for axis in range(rank)], visit, 0)

    return call.loops(body, sizes=lambda data: [_count(data)])


def _count(data: Value) -> Number:
    """Return the number of nonzero elements."""
    rows = Reduction(data, range(len(data.type.shape)))
    step = lambda value, total: total + (widened(value) != 0).to("i64")  # noqa: E731
    return linalg.extract(rows.fold(step, [rows.whole], 0, rows.empty("i64")), [])


# ---- sampling of classes ----


@register_legalize("relax.multinomial_from_uniform")
def multinomial_from_uniform(call: LegalizeCall) -> Legalized:
    """Return the first class with a cumulative probability above the sample, or the last class."""
    wide = wide_probability(call)

    def draw(prob: Value, row: Number, threshold: Number) -> Number:
        last = size(prob, 1) - 1

        def goes_on(place: Number, total: Number) -> Number:
            return ~(threshold < total) & (place < last)

        def step(place: Number, total: Number) -> list[Number]:
            following = place + 1
            return [following, total + load(prob, row, following).to(wide)]

        return repeat_while([0, load(prob, row, 0).to(wide)], goes_on, step)[0]

    return call.loops(lambda prob, *others: draw_samples(call, prob, others, partial(draw, prob)))


def wide_probability(call: LegalizeCall) -> str:
    """Return the dtype in which probabilities are summed and compared with samples."""
    return "f64" if 64 in [bit_width(call.dtype(operand)) for operand in call.operands[:2]] else "f32"


def draw_samples(
    call: LegalizeCall, prob: Value, others: Sequence[Value], draw: Callable[[Number, Number], Number]
) -> None:
    """Write the class `draw(row, threshold)` of each sample. `others` are samples, their rows and the result."""
    uniform, rows, out = others
    index_dtype, result_dtype = call.dtype(call.operands[2]), call.result_dtype()
    wide = wide_probability(call)
    batch, classes = size(prob, 0), size(prob, 1)
    for buffer in (uniform, rows):
        require_same(sizes(buffer)[0], sizes(out)[0], "numbers of samples and of results")
        require_same(sizes(buffer)[1], 1, "columns of samples")

    def draw_one(sample: Number) -> None:
        row = as_position(load(rows, sample, 0), index_dtype)
        message = "sample {} is of row {}, but there are {} rows of probabilities"
        # As unsigned numbers, negative rows are large.
        require(row.unsigned("<", batch), "IndexError", message, sample, row, batch)
        require(classes != 0, "ValueError", "there is no class to draw")
        store(draw(row, load(uniform, sample, 0).to(wide)).to(result_dtype), out, sample, 0)

    share_places([size(uniform, 0)], draw_one)
