# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stores and loads vectors of bf16 and f16 under a mask, and puts elements into them, as integers of their width.

On CPUs without instructions for these types LLVM widens what is stored under a mask, or put at a place that only the
run tells (elements that are no neighbours in memory), and calls compiler-rt to narrow it again, which nobody links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....bindings.legality import operations_in
from ....bindings.mlir import ir
from ....bindings.patterns import defining_op
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass

_STORE, _LOAD, _INSERT = "llvm.intr.masked.store", "llvm.intr.masked.load", "llvm.insertelement"


@register_pass
@dataclass(frozen=True)
class StoreNarrowFloats(Pass):
    """Stores, loads and fills vectors of bf16 and f16 as integers of their width, where LLVM would widen them."""

    name: ClassVar[str] = "llvm-store-narrow-floats"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)

    def run(self, op: Any) -> None:
        found = [inside for inside in operations_in(op) if inside.name in _CONVERSIONS]
        with op.context:
            for each in found:
                with each.location, ir.InsertionPoint(each):
                    _CONVERSIONS[each.name](each)


def _convert_store(op: Any) -> None:
    value = op.operands[0]
    integers = _integers(value.type)
    if integers is not None:
        op.operands[0] = _bitcast(value, integers)


def _convert_load(op: Any) -> None:
    floats = op.results[0].type
    integers = _integers(floats)
    if integers is None:
        return
    pointer, mask, *passed = op.operands
    operands = [pointer, mask, *(_bitcast(value, integers) for value in passed)]
    attributes = {name: op.attributes[name] for name in op.attributes}
    loaded = ir.Operation.create(_LOAD, results=[integers], operands=operands, attributes=attributes)
    op.results[0].replace_all_uses_with(_bitcast(loaded.result, floats))
    op.erase()


def _convert_insert(op: Any) -> None:
    vector, element, place = op.operands
    floats, integers = vector.type, _integers(vector.type)
    if integers is None or defining_op(place, "llvm.mlir.constant") is not None:
        return
    operands = [_bitcast(vector, integers), _bitcast(element, integers.element_type), place]
    filled = ir.Operation.create(_INSERT, results=[integers], operands=operands)
    op.results[0].replace_all_uses_with(_bitcast(filled.result, floats))
    op.erase()


_CONVERSIONS = {_STORE: _convert_store, _LOAD: _convert_load, _INSERT: _convert_insert}


def _integers(type_: Any) -> Any:
    """The vector of integers in place of a vector of narrow floats; None for any other."""
    element = type_.element_type
    if not isinstance(element, (ir.BF16Type, ir.F16Type)):
        return None
    return ir.VectorType.get(type_.shape, ir.IntegerType.get_signless(16, type_.context))


def _bitcast(value: Any, type_: Any) -> Any:
    return ir.Operation.create("llvm.bitcast", results=[type_], operands=[value]).result
