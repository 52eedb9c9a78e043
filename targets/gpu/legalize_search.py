# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search operators based on scans.

For nonzero, a scan numbers the nonzero elements, then all threads write. For multinomial, a scan computes the
cumulative probabilities, and each sample finds its class by binary search. The order of summation is not sequential.
"""

from __future__ import annotations

import operator
from functools import partial

from ...bindings.ir import Value
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import product
from ...emit import linalg
from ...emit.arithmetic import element
from ...emit.conversions import widened
from ...emit.loops import load, scratch, size, sizes, store, when
from ...emit.numbers import Number, as_index
from ...emit.parallel import share_places
from ...emit.sorting import first_not
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_search import draw_samples, wide_probability
from .emit.numbering import numbering
from .emit.scanning import Scan, scan_rows


@register_legalize("relax.nonzero", target="gpu")
def nonzero(call: LegalizeCall) -> Legalized:
    shape = call.shape(call.operands[0])
    if None in shape:
        return call.decline("a size of the operand is not known")
    rank = len(shape)

    def is_set(data: Value, at: list[Number]) -> Number:
        return widened(load(data, *at)) != 0

    def number(data: Value, numbers: Value, total: Value) -> None:
        sizes = linalg.sizes(data)

        def is_found(place: Number) -> Number:
            return is_set(data, linalg.indices_at(place, sizes))

        scan_rows(
            1, linalg.product(sizes), numbering(is_found, lambda place, before, _: store(before, numbers, place), total)
        )

    infos = [TensorInfo((product(shape),), "i64"), TensorInfo((1,), "i64")]
    numbers, total = call.loops(number, outputs=infos, name="number_nonzero")
    (columns,) = call.define_sizes(total, 1)

    def write(data: Value, numbers: Value, out: Value) -> None:
        sizes = linalg.sizes(data)

        def visit(*at: Number) -> None:
            def put() -> None:
                column = load(numbers, linalg.place_at(at, sizes)).to("index")
                # A scalar counts as a row of one element.
                for row, index in enumerate(at or [as_index(0)]):
                    store(index.to("i64"), out, row, column)

            when(is_set(data, list(at)), put)

        share_places(sizes, visit)

    result = TensorInfo((max(rank, 1), columns), "i64")
    (found,) = call.loops(write, [call.operands[0], numbers], [result])
    return call.cast(found, call.result_infos[0])


# ---- sampling of classes ----


@register_legalize("relax.multinomial_from_uniform", target="gpu")
def multinomial_from_uniform(call: LegalizeCall) -> Legalized:
    wide = wide_probability(call)

    def body(prob: Value, *others: Value) -> None:
        batch, classes = sizes(prob)

        def draw(totals: Value, row: Number, threshold: Number) -> Number:
            return first_not(0, size(prob, 1) - 1, lambda place: ~(threshold < load(totals, row, place)))

        def with_totals(totals: Value) -> None:
            read = lambda row, place: load(prob, row, place).to(wide)  # noqa: E731
            write = lambda row, place, _, total: store(total, totals, row, place)  # noqa: E731
            scan_rows(batch, classes, Scan(wide, operator.add, 0, read, write))
            draw_samples(call, prob, others, partial(draw, totals))

        scratch([batch, classes], element(wide), with_totals)

    return call.loops(body)
