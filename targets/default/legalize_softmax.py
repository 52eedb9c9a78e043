# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and its logarithm. The largest element is taken out of the exponents, so that no exp overflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dialects.core.infos import bit_width
from ...dialects.tir import dialect as tir
from ...emit import linalg, scalar
from ...emit.conversions import rounded, widened
from ...emit.numbers import Number, number
from ...emit.reduction import Reduction, lowest
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import register_legalize


def _along_axis(op: Any, builder: RuleBuilder, body: Callable[[Reduction, Any, Any], Any]) -> list[Any]:
    """A PrimFunc of `body(reduction along the axis, largest elements, output)`."""
    x = builder.operands[0]
    axis, dtype = op.axis % linalg.rank_of(x), builder.dtype(x)

    def write(x: Any, output: Any) -> Any:
        reduction = Reduction(x, [axis])
        return body(reduction, reduction.extreme(scalar.maximum, lowest(dtype), dtype), output)

    return builder.prim(write)


def _exp(x: Any, largest: Any) -> Number:
    return number(tir.ops["exp"]((widened(x) - number(largest)).value))


@register_legalize("relax.nn.softmax")
def softmax(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    return _along_axis(op, builder, _softmax_of_narrow if bit_width(builder.dtype(operands[0])) < 32 else _softmax)


def _softmax(rows: Reduction, largest: Any, output: Any) -> Any:
    powers = rows.everywhere(lambda *scalars: _exp(*scalars).value, [rows.whole, rows.part(largest)], output)
    totals = rows.total(number, [rows.alike(powers)])

    def share(power: Any, total: Any) -> Any:
        return (number(power) / number(total)).value

    return rows.everywhere(share, [rows.alike(powers), rows.part(totals)], powers)


def _softmax_of_narrow(rows: Reduction, largest: Any, output: Any) -> Any:
    """In the result exponentials would lose digits, and there is no other room: they are computed twice."""
    reads = [rows.whole, rows.part(largest)]
    totals, dtype = rows.total(_exp, reads), str(output.type.element_type)

    def share(x: Any, largest: Any, total: Any) -> Any:
        return rounded(_exp(x, largest) / number(total), dtype).value

    return rows.everywhere(share, [*reads, rows.part(totals)], output)


@register_legalize("relax.nn.log_softmax")
def log_softmax(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    return _along_axis(op, builder, _log_softmax)


def _log_softmax(rows: Reduction, largest: Any, output: Any) -> Any:
    reads = [rows.whole, rows.part(largest)]
    dtype, totals = str(output.type.element_type), rows.total(_exp, reads)
    logarithms = rows.over_kept(lambda total: tir.ops["log"](total), [totals], rows.empty(rows.dtype))

    def difference(x: Any, largest: Any, logarithm: Any) -> Any:
        return rounded(widened(x) - number(largest) - number(logarithm), dtype).value

    return rows.everywhere(difference, [*reads, rows.part(logarithms)], output)
