# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that choose between elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...bindings.rewriting import Decline
from ...dialects.core.infos import bit_width, is_float, is_unsigned
from ...dialects.tir.prim_func import OpPattern
from ...emit import linalg, scalar
from ...emit.conversions import convert_scalar, element
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize
from ...passes.legalize.scalar_inputs import ScalarInputs


@register_legalize("relax.where")
def where(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    return builder.elementwise(scalar.select)


@register_legalize("relax.clip")
def clip(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    """min(max(x, low), high), so `high` where the bounds are exchanged, and NaN where any of them is.

    Bounds are converted to x's type first: of integers towards zero, and to the limits of the type.
    """
    x, *bounds = operands
    dtype = builder.dtype(x)
    scalars = ScalarInputs(builder, bounds)
    constants = [None if number is None else _constant_bound(number, dtype) for number in scalars.known]
    sources = [source for source, number in zip(scalars.dtypes, scalars.known, strict=True) if number is None]

    def body(x: Any, *others: Any) -> Any:
        *given, output = others
        values = iter([_bound(value, source, dtype) for value, source in zip(given, sources, strict=True)])
        low, high = (next(values) if constant is None else constant() for constant in constants)
        rank = linalg.rank_of(output)

        def step(value: Any, _: Any) -> Any:
            return scalar.minimum(scalar.maximum(value, low, dtype), high, dtype)

        return linalg.generic([x], [output], [linalg.identity(rank)] * 2, [linalg.PARALLEL] * rank, step)[0]

    return builder.prim(body, [x, *scalars.inputs], pattern=OpPattern.ELEMWISE)


def _constant_bound(number: float, dtype: str) -> Callable[[], Any]:
    if not is_float(dtype):
        if isinstance(number, float) and math.isnan(number):
            raise Decline("a bound is NaN, which no integer is")
        low, high = _limits(dtype)
        number = max(low, min(high, number if not math.isinf(number) else (high if number > 0 else low)))
        number = int(number)
    return lambda: scalar.constant(number, element(dtype))


def _limits(dtype: str) -> tuple[int, int]:
    width = bit_width(dtype)
    return (0, 2**width - 1) if is_unsigned(dtype) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def _bound(value: Any, source: str, dtype: str) -> Any:
    """A bound known at run time, in the type of the elements; the nearest number of it."""
    if not is_float(source) and not is_float(dtype):
        value = _kept_in_limits(value, source, dtype)
    return convert_scalar(value, source, dtype)


def _kept_in_limits(value: Any, source: str, dtype: str) -> Any:
    """An integer that the conversion to another type does not change."""
    (low, high), (lowest, highest) = _limits(dtype), _limits(source)
    if low > lowest:
        value = scalar.maximum(value, scalar.constant(low, value.type), source)
    if high < highest:
        value = scalar.minimum(value, scalar.constant(high, value.type), source)
    return value
