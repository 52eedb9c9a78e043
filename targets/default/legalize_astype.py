# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types changed; emit/conversions.py says what a conversion means for each pair."""

from __future__ import annotations

from ...bindings.ir import OpView, Value
from ...dialects import relax
from ...dialects.core.infos import is_bool, signless
from ...emit.arithmetic import convert, element
from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.astype", by_types=True)
def astype(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    source, target = builder.dtype(operands[0]), builder.result_dtype()
    if source == target:
        return operands[0]
    return builder.elementwise(lambda x: x.to(target))


@register_legalize("relax.bitcast", by_types=True)
def bitcast(op: OpView, operands: list[Value], builder: RuleBuilder) -> Legalized:
    source, target = builder.dtype(operands[0]), builder.result_dtype()
    if source == target:
        return operands[0]
    if is_bool(source) or is_bool(target):
        return _by_byte(operands[0], source, target)
    if signless(source) == signless(target):
        return builder.elementwise(lambda x: x)
    return builder.elementwise(lambda x: convert("arith.bitcast", x, element(target)))


def _by_byte(x: Value, source: str, target: str) -> Value:
    """A bool is a byte, 0 or 1; in PrimFuncs it is one bit."""
    astype, bitcast = relax.astype, relax.bitcast
    if is_bool(source):
        return bitcast(astype(x, dtype="ui8"), dtype=target)
    return astype(bitcast(x, dtype="ui8"), dtype="i1")
