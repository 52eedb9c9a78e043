# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Widening of shuffles. Devices exchange 32 bits between threads, and upstream only lowers f32 and wider types."""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_named
from ....bindings.rewriting import made_again
from ....emit.arithmetic import result_of
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass

_BITS = 32


@register_pass
class WidenShuffles(Pass):
    """Exchange numbers of less than 32 bits between threads as 32-bit integers."""

    name: ClassVar[str] = "cuda-widen-shuffles"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu")

    def run(self, op: Operation) -> None:
        for shuffle in operations_named(op, "gpu.shuffle"):
            type_ = shuffle.operands[0].type
            if isinstance(type_, (ir.FloatType, ir.IntegerType)) and type_.width < _BITS:
                with op.context, shuffle.location, ir.InsertionPoint(shuffle):
                    _widen(shuffle, type_)


def _widen(shuffle: Operation, type_: Type) -> None:
    value, *lane = shuffle.operands
    narrow, wide = (ir.IntegerType.get_signless(bits) for bits in (type_.width, _BITS))
    bits = _as(narrow, value)
    operation = made_again(shuffle, [result_of("arith.extui", [bits], wide), *lane], [wide, shuffle.results[1].type])
    back = _as(type_, result_of("arith.trunci", [operation.results[0]], narrow))
    shuffle.results[0].replace_all_uses_with(back)
    shuffle.results[1].replace_all_uses_with(operation.results[1])
    shuffle.erase()


def _as(type_: Type, value: Value) -> Value:
    return value if value.type == type_ else result_of("arith.bitcast", [value], type_)
