# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums and products of each element and all before it: a loop that carries the total, in f32 for narrower floats."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...dialects.relax import dialect as relax
from ...emit import linalg
from ...emit.conversions import accumulator
from ...emit.loops import for_range, load, nest, size, store
from ...emit.numbers import Number, constant
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize

_STEPS: dict[str, tuple[Callable[[Number, Number], Number], int]] = {
    "cumsum": (operator.add, 0),
    "cumprod": (operator.mul, 1),
}


@register_legalize([f"relax.{name}" for name in _STEPS])
def scan(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    (data,) = operands
    name, source, result = op.definition.name, builder.dtype(data), builder.result_dtype()
    if op.axis is None:
        flat = relax.ops["flatten"](data)
        return relax.ops[name](flat, axis=0, dtype=op.dtype, exclusive=op.exclusive)
    rank = linalg.rank_of(data)
    axis, is_exclusive, wide = op.axis % rank, op.exclusive, accumulator(result)
    step, start = _STEPS[name]

    def body(x: Any, output: Any) -> None:
        def along_axis(*others: Any) -> None:
            def advance(place: Any, total: Any) -> Any:
                indices = [*others[:axis], place, *others[axis:]]
                following = step(total, load(x, *indices).of(source).to(wide))
                store((total if is_exclusive else following).of(wide).to(result), output, *indices)
                return following

            for_range(0, size(x, axis), advance, constant(start, wide))

        nest([size(x, other) for other in range(rank) if other != axis], along_axis)

    return builder.loops(body)
