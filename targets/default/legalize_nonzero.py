# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where elements are not zero: counted first, then written in their order."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo, describe
from ...emit import linalg, scalar
from ...emit.conversions import widened
from ...emit.loops import for_range, index, load, size, store, when
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


@register_legalize("relax.nonzero")
def nonzero(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    info = builder.info(operands[0])
    if not isinstance(info, TensorInfo) or info.shape is None:
        return builder.decline(f"the rank of the operand ({describe(info)}) is not known")
    dtype, rank = info.dtype, len(info.shape)

    def is_set(value: Any) -> Any:
        element = widened(value).value
        return scalar.compare("!=", element, scalar.constant(0, element.type), dtype)

    def write(indices: list[Any], out: Any, column: Any) -> None:
        # A scalar counts as a row of one element.
        for row, place in enumerate(indices or [index(0)]):
            store(scalar.from_index(place, "i64"), out, row, column)

    def body(data: Any, out: Any) -> None:
        def visit(indices: list[Any], column: Any) -> Any:
            if len(indices) < rank:
                place = size(data, len(indices))
                return for_range(0, place, lambda i, column: visit([*indices, i], column), column)[0]
            found = is_set(load(data, *indices))
            when(found, lambda: write(indices, out, column))
            return scalar.incremented_if(found, column)

        visit([], index(0))

    return builder.loops(body, sizes=lambda data: [_count(data, is_set)])


def _count(data: Any, is_set: Any) -> Any:
    """How many elements of a tensor are set."""
    rank = linalg.rank_of(data)
    i64 = ir.IntegerType.get_signless(64)
    zero = linalg.fill(scalar.constant(0, i64), linalg.empty([], i64))

    def add(value: Any, total: Any) -> Any:
        return scalar.add(total, scalar.create("arith.extui", is_set(value), type_=i64), "i64")

    maps = [linalg.identity(rank), linalg.select_dims(rank, [])]
    return linalg.extract(linalg.generic([data], [zero], maps, [linalg.REDUCTION] * rank, add)[0], [])
