# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that look for a place in what is sorted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.core.infos import bit_width, is_float, is_unsigned
from ...dialects.tir.prim_func import OpPattern
from ...emit import linalg, loops
from ...emit.numbers import Number, as_index, select
from ...emit.sorting import precedes
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


@register_legalize("relax.bucketize")
def bucketize(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """numpy's searchsorted: NaN comes after every number. Boundaries that are not sorted give some place."""
    dtypes = [builder.dtype(value) for value in operands]
    common, result = _common(*dtypes), builder.dtype(op.results[0])
    right = op.right

    def body(x: Any, boundaries: Any, output: Any) -> Any:
        count = as_index(loops.sizes(boundaries)[0])

        def is_before(position: Number, value: Number) -> Number:
            """Whether the value's place is behind the boundary at a position."""
            boundary = loops.load(boundaries, position).of(dtypes[1]).to(common)
            return ~precedes(value, boundary, common) if right else precedes(boundary, value, common)

        def step(given: Number) -> Number:
            value = given.of(dtypes[0]).to(common)
            return _first_not(count, lambda position: is_before(position, value)).to(result)

        return linalg.parallel([x], output, step)

    return builder.prim(body, pattern=OpPattern.INJECTIVE)


def _first_not(count: Number, is_before: Callable[[Number], Number]) -> Number:
    """The first position below `count` for which it is false, or `count`, by halving."""

    def halve(low: Number, high: Number) -> list[Number]:
        middle = (low + high).shift_right_unsigned(1)
        before = is_before(middle)
        return [select(before, middle + 1, low), select(before, high, middle)]

    return loops.repeat_while([0, count], lambda low, high: low < high, halve)[0]


def _common(one: str, other: str) -> str:
    """The type in which elements of two types are compared; as in numpy, f64 for an integer and a float."""
    if one == other:
        return one
    if is_float(one) and is_float(other):
        wider = max(one, other, key=bit_width)
        # f16 and bf16 have no common type but a wider one.
        return wider if bit_width(wider) >= 32 else "f32"
    if is_float(one) or is_float(other):
        return "f64"
    if is_unsigned(one) == is_unsigned(other):
        return max(one, other, key=bit_width)
    unsigned, signed = (one, other) if is_unsigned(one) else (other, one)
    if bit_width(unsigned) < bit_width(signed):
        return signed
    return "i64" if bit_width(unsigned) < 64 else "f64"
