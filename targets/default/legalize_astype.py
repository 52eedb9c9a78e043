# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of element types. emit/conversions.py defines the conversion for each pair of types."""

from __future__ import annotations

from ...bindings.ir import Value
from ...dialects import relax
from ...dialects.core.infos import is_bool, signless
from ...emit.arithmetic import convert, element
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.astype", by_types=True)
def astype(call: LegalizeCall) -> Legalized:
    source, target = call.dtype(call.operands[0]), call.result_dtype()
    if source == target:
        return call.operands[0]
    return call.elementwise(lambda x: x.to(target))


@register_legalize("relax.bitcast", by_types=True)
def bitcast(call: LegalizeCall) -> Legalized:
    source, target = call.dtype(call.operands[0]), call.result_dtype()
    if source == target:
        return call.operands[0]
    if is_bool(source) or is_bool(target):
        return _cast_by_byte(call.operands[0], source, target)
    if signless(source) == signless(target):
        return call.elementwise(lambda x: x)
    return call.elementwise(lambda x: convert("arith.bitcast", x, element(target)))


def _cast_by_byte(x: Value, source: str, target: str) -> Value:
    """Cast through ui8. A bool is a byte, 0 or 1, in tensors, but one bit in PrimFuncs."""
    astype, bitcast = relax.astype, relax.bitcast
    if is_bool(source):
        return bitcast(astype(x, dtype="ui8"), dtype=target)
    return astype(bitcast(x, dtype="ui8"), dtype="i1")
