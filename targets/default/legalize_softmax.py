# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and its logarithm. The row's maximum is subtracted in the exponents, so that no exp overflows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import Value
from ...dialects.core.infos import bit_width
from ...emit.axis_reduction import Read, Reduction, lowest
from ...emit.conversions import rounded, widened
from ...emit.numbers import Number, intrinsic, larger
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


def _call_along_axis(call: LegalizeCall, body: Callable[[Reduction, Value, Value], Value]) -> list[Value]:
    """Call a PrimFunc of `body(reduction along the axis, maxima, output)`.

    A NaN makes its whole row NaN through the sum.
    """
    x = call.operands[0]
    axis, dtype = call.op.axis % len(call.shape(x)), call.dtype(x)

    def write(x: Value, output: Value) -> Value:
        rows = Reduction(x, [axis])
        return body(rows, rows.extreme(larger, lowest(dtype), dtype), output)

    return call.prim(write)


def _exp(x: Number, largest: Number) -> Number:
    return intrinsic("exp_below", widened(x) - largest)


@register_legalize("relax.nn.softmax", by_types=True)
def softmax(call: LegalizeCall) -> Legalized:
    return _call_along_axis(call, _softmax_of_narrow if bit_width(call.dtype(call.operands[0])) < 32 else _softmax)


def _softmax(rows: Reduction, largest: Value, output: Value) -> Value:
    powers = rows.everywhere(_exp, [rows.whole, rows.part(largest)], output)
    shares = _inverse(rows, lambda power: power, [rows.alike(powers)])
    return rows.everywhere(lambda power, share: power * share, [rows.alike(powers), rows.part(shares)], powers)


def _inverse(rows: Reduction, body: Callable[..., Number], reads: Sequence[Read]) -> Value:
    """Return 1 / the sums of `body(*elements)`: one division per row instead of one per element."""
    return rows.over_kept(lambda x: rounded(1.0 / x, rows.dtype), [rows.sum(body, reads)], rows.empty(rows.dtype))


def _softmax_of_narrow(rows: Reduction, largest: Value, output: Value) -> Value:
    """Compute the exponentials twice, since storing them in the narrow result would lose digits."""
    reads, dtype = [rows.whole, rows.part(largest)], str(output.type.element_type)
    shares = rows.part(_inverse(rows, _exp, reads))
    return rows.everywhere(lambda x, most, share: rounded(_exp(x, most) * share, dtype), [*reads, shares], output)


@register_legalize("relax.nn.log_softmax", by_types=True)
def log_softmax(call: LegalizeCall) -> Legalized:
    return _call_along_axis(call, _log_softmax)


def _log_softmax(rows: Reduction, largest: Value, output: Value) -> Value:
    reads, dtype = [rows.whole, rows.part(largest)], str(output.type.element_type)
    totals = rows.total(_exp, reads)
    logs = rows.part(rows.over_kept(lambda total: intrinsic("log", total), [totals], rows.empty(rows.dtype)))
    return rows.everywhere(lambda x, most, log: rounded(widened(x) - most - log, dtype), [*reads, logs], output)
