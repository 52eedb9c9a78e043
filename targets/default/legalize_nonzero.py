# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where elements are not zero: counted first, then written in their order."""

from __future__ import annotations

from typing import Any

from ...dialects.core.infos import TensorInfo, describe
from ...emit import linalg
from ...emit.conversions import widened
from ...emit.loops import for_range, load, size, store, when
from ...emit.numbers import Number, as_index
from ...emit.reduction import Reduction
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


@register_legalize("relax.nonzero")
def nonzero(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    info = builder.info(operands[0])
    if not isinstance(info, TensorInfo) or info.shape is None:
        return builder.decline(f"the rank of the operand ({describe(info)}) is not known")
    rank = len(info.shape)

    def write(indices: list[Any], out: Any, column: Any) -> None:
        # A scalar counts as a row of one element.
        for row, place in enumerate(indices or [as_index(0)]):
            store(place.to("i64"), out, row, column)

    def body(data: Any, out: Any) -> None:
        def visit(indices: list[Any], column: Any) -> Any:
            if len(indices) < rank:
                place = size(data, len(indices))
                return for_range(0, place, lambda i, column: visit([*indices, i], column), column)[0]
            found = widened(load(data, *indices)) != 0
            when(found, lambda: write(indices, out, column))
            return column + found.to("index")

        visit([], as_index(0))

    return builder.loops(body, sizes=lambda data: [_count(data)])


def _count(data: Any) -> Number:
    """How many elements of a tensor are set."""
    rows = Reduction(data, range(len(data.type.shape)))
    step = lambda value, total: total + (widened(value) != 0).to("i64")  # noqa: E731
    return linalg.extract(rows.fold(step, [rows.whole], 0, rows.empty("i64")), [])
