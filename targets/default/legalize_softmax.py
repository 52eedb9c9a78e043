# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and its logarithm. The largest element is taken out of the exponents, so that no exp overflows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import Value
from ...dialects.core.infos import bit_width
from ...emit.axis_reduction import Read, Reduction, lowest
from ...emit.conversions import rounded, widened
from ...emit.numbers import Number, intrinsic, larger
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


def _along_axis(call: LegalizeCall, body: Callable[[Reduction, Value, Value], Value]) -> list[Value]:
    """A PrimFunc of `body(reduction along the axis, largest elements, output)`. A NaN makes its row NaN by the sum."""
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
    return _along_axis(call, _softmax_of_narrow if bit_width(call.dtype(call.operands[0])) < 32 else _softmax)


def _softmax(rows: Reduction, largest: Value, output: Value) -> Value:
    powers = rows.everywhere(_exp, [rows.whole, rows.part(largest)], output)
    shares = _inverse(rows, lambda power: power, [rows.alike(powers)])
    return rows.everywhere(lambda power, share: power * share, [rows.alike(powers), rows.part(shares)], powers)


def _inverse(rows: Reduction, body: Callable[..., Number], reads: Sequence[Read]) -> Value:
    """1 / the sums of `body(*elements)`: one division for a row instead of as many as it has elements."""
    return rows.over_kept(lambda x: rounded(1.0 / x, rows.dtype), [rows.sum(body, reads)], rows.empty(rows.dtype))


def _softmax_of_narrow(rows: Reduction, largest: Value, output: Value) -> Value:
    """In the result exponentials would lose digits, and there is no other room: they are computed twice."""
    reads, dtype = [rows.whole, rows.part(largest)], str(output.type.element_type)
    shares = rows.part(_inverse(rows, _exp, reads))
    return rows.everywhere(lambda x, most, share: rounded(_exp(x, most) * share, dtype), [*reads, shares], output)


@register_legalize("relax.nn.log_softmax", by_types=True)
def log_softmax(call: LegalizeCall) -> Legalized:
    return _along_axis(call, _log_softmax)


def _log_softmax(rows: Reduction, largest: Value, output: Value) -> Value:
    reads, dtype = [rows.whole, rows.part(largest)], str(output.type.element_type)
    totals = rows.total(_exp, reads)
    logs = rows.part(rows.over_kept(lambda total: intrinsic("log", total), [totals], rows.empty(rows.dtype)))
    return rows.everywhere(lambda x, most, log: rounded(widened(x) - most - log, dtype), [*reads, logs], output)
