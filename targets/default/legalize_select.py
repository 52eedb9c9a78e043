# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that select between elements."""

from __future__ import annotations

import math

from ...bindings.ir import Value
from ...bindings.rewriting import Decline
from ...dialects.core.infos import is_float
from ...emit import linalg
from ...emit.conversions import limits
from ...emit.numbers import Number, constant, maximum, minimum, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ...passes.legalize.scalar_inputs import ScalarInputs


@register_legalize("relax.where", by_types=True)
def where(call: LegalizeCall) -> Legalized:
    return call.elementwise(select)


@register_legalize("relax.clip", by_types=True)
def clip(call: LegalizeCall) -> Legalized:
    """Return min(max(x, low), high).

    This is `high` if the bounds are swapped, and NaN if any operand is. Bounds are first converted to x's dtype; for
    integers they are truncated and saturated.
    """
    x, *bounds = call.operands
    dtype = call.dtype(x)
    scalars = ScalarInputs(call, bounds)
    known = [None if number is None else _constant_bound(number, dtype) for number in scalars.known]
    sources = [source for source, number in zip(scalars.dtypes, scalars.known, strict=True) if number is None]

    def body(x: Value, *others: Number) -> Value:
        *given, output = others
        values = iter([_round_bound(value, source, dtype) for value, source in zip(given, sources, strict=True)])
        low, high = (next(values) if bound is None else constant(bound, dtype) for bound in known)
        return linalg.parallel([x], output, lambda value: minimum(maximum(value.of(dtype), low), high))

    return call.prim(body, [x, *scalars.inputs])


def _constant_bound(number: float, dtype: str) -> float:
    if not is_float(dtype):
        if isinstance(number, float) and math.isnan(number):
            raise Decline("a bound is NaN, which integers cannot represent")
        low, high = limits(dtype)
        return int(max(low, min(high, number)))
    return number


def _round_bound(value: Number, source: str, dtype: str) -> Number:
    """Return a dynamic bound in the elements' dtype, as the nearest number."""
    value = value.of(source)
    if is_float(source) or is_float(dtype):
        return value.to(dtype)
    # Clamped first, so that the conversion to another type does not change the integer.
    (low, high), (lowest, highest) = limits(dtype), limits(source)
    if low > lowest:
        value = maximum(value, low)
    if high < highest:
        value = minimum(value, high)
    return value.to(dtype)
