# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans (cumulative sums and products) by blocks of threads. The order of combination is not sequential."""

from __future__ import annotations

from ...bindings.ir import Value
from ...dialects import relax
from ...emit import linalg
from ...emit.conversions import accumulator
from ...emit.loops import for_range, load, store
from ...emit.numbers import Number, constant
from ...emit.sorting import around_axis
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_reduction import STEPS
from .emit.scanning import Scan, scan_rows

#: Limits for a row that a single thread scans: the length, the length if there are many rows, and their number.
_SHORT, _LONG, _MANY_ROWS = 64, 1024, 1 << 13


@register_legalize([f"relax.{name}" for name in STEPS], target="gpu", by_types=True)
def scan(call: LegalizeCall) -> Legalized:
    (data,) = call.operands
    name, source, result = call.op.definition.name, call.dtype(data), call.result_dtype()
    if call.op.axis is None:
        return relax.dialect.ops[name](relax.flatten(data), axis=0, dtype=call.op.dtype, exclusive=call.op.exclusive)
    axis, is_exclusive, wide = call.op.axis % linalg.rank_of(data), call.op.exclusive, accumulator(result)
    combine, start = STEPS[name]

    def body(*buffers: Value) -> None:
        sizes = linalg.sizes(buffers[0])
        count, after = sizes[axis], linalg.product(sizes[axis + 1 :])
        x, output = (around_axis(buffer, axis) for buffer in buffers)
        rows = linalg.product([*sizes[:axis], after])

        def read(row: Number, place: Number) -> Number:
            return load(x, row // after, place, row % after).of(source).to(wide)

        def write(row: Number, place: Number, before: Number, total: Number) -> None:
            value = before if is_exclusive else total
            store(value.of(wide).to(result), output, row // after, place, row % after)

        def alone(row: Number) -> None:
            def step(place: Number, before: Number) -> Number:
                total = combine(before, read(row, place))
                write(row, place, before, total)
                return total

            for_range(0, count, step, constant(start, wide))

        if _is_for_each(rows, count, is_across=not (isinstance(after, int) and after == 1)):
            for_range(0, rows, alone, grain=1)
        else:
            scan_rows(rows, count, Scan(wide, combine, start, read, write))

    return call.loops(body)


def _is_for_each(rows: object, count: object, *, is_across: bool) -> bool:
    """Check whether one thread scans each row: short rows, or many rows with strided elements."""
    if not isinstance(count, int):
        return False
    return count <= _SHORT or (is_across and count <= _LONG and isinstance(rows, int) and rows >= _MANY_ROWS)
