# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The places of elements that are not zero: each gets its number by a scan, then all are written at once."""

from __future__ import annotations

from typing import Any

from ...bindings.ir import OpView, Value
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import product
from ...emit import linalg
from ...emit.conversions import widened
from ...emit.loops import load, store, when
from ...emit.numbers import Number, as_index
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize
from ...passes.schedule.sharing import share_places
from .emit.numbering import numbering
from .emit.scanning import scan_rows


@register_legalize("relax.nonzero", target="gpu")
def nonzero(op: OpView, operands: list[Value], builder: RuleBuilder) -> Any:
    shape = builder.shape(operands[0])
    if None in shape:
        return builder.decline("a size of the operand is not known")
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
    numbers, total = builder.loops(number, outputs=infos, name="number_nonzero")
    (columns,) = builder.define_sizes(total, 1)

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
    (found,) = builder.loops(write, [operands[0], numbers], [result])
    return builder.cast(found, builder.result_infos[0])
