# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps bf16 as integers of its width, and moves elements of vectors of f16 so.

On CPUs without instructions for these types LLVM widens what is shuffled, put at a place that only the run tells,
stored under a mask, or in use in several blocks, and calls compiler-rt to narrow it again, which nobody links. What
computes bf16 has become integers already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....bindings.legality import operations_in
from ....bindings.mlir import ir
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass

_MOVING = frozenset(
    f"llvm.{name}"
    for name in ("extractelement", "insertelement", "intr.masked.load", "intr.masked.store", "select", "shufflevector")
)


#: What has types of its own for what it gets.
_CALLS = frozenset(("llvm.call", "llvm.return", "llvm.invoke"))
#: Where elements of bf16 come from.
_SOURCES = frozenset(("llvm.bitcast", "llvm.intr.masked.load", "llvm.load"))


@register_pass
@dataclass(frozen=True)
class StoreNarrowFloats(Pass):
    """Keeps bf16 as integers of its width, and moves elements of vectors of f16 so."""

    name: ClassVar[str] = "llvm-store-narrow-floats"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)

    def run(self, op: Any) -> None:
        with op.context:
            for function in op.regions[0].blocks[0].operations:
                _convert_function(function.operation)


def _convert_function(function: Any) -> None:
    inside = operations_in(function)
    has_bf16 = any(each.name in _SOURCES and _is_bf16(each.results[0].type) for each in inside)
    if has_bf16 and not _passes_bf16(function, inside):
        _retype_blocks(function)
        for each in inside:
            _retype(each)
    for each in inside:
        if each.name in _MOVING:
            with each.location, ir.InsertionPoint(each):
                _move_integers(each)


def _retype_blocks(function: Any) -> None:
    for block in function.regions[0].blocks:
        for argument in block.arguments:
            argument.set_type(_bf16_as_integers(argument.type))


def _retype(op: Any) -> None:
    """Values of bf16 become integers where they are."""
    if op.name == "llvm.mlir.constant" and _is_bf16(op.results[0].type):
        _retype_constant(op)
        return
    for result in op.results:
        result.set_type(_bf16_as_integers(result.type))


def _retype_constant(op: Any) -> None:
    """What LLVM folds: elements are as they were."""
    floats = op.results[0]
    with op.location, ir.InsertionPoint.after(op):
        integers = _bitcast(floats, _integers(floats.type))
    floats.replace_all_uses_except(integers, integers.owner.operation)


def _passes_bf16(function: Any, inside: list[Any]) -> bool:
    passed = [value for op in inside if op.name in _CALLS for value in (*op.operands, *op.results)]
    return any(_is_bf16(value.type) for value in (*function.regions[0].blocks[0].arguments, *passed))


def _move_integers(op: Any) -> None:
    if not any(_is_narrow_vector(value.type) for value in (*op.operands, *op.results)):
        return
    moved = ir.Operation.create(
        op.name,
        results=[_integers(result.type) for result in op.results],
        operands=[_bitcast(value, _integers(value.type)) for value in op.operands],
        attributes={name: op.attributes[name] for name in op.attributes},
    )
    for result, integers in zip(op.results, moved.results, strict=True):
        result.replace_all_uses_with(_bitcast(integers, result.type))
    op.erase()


def _is_bf16(type_: Any) -> bool:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return isinstance(element, ir.BF16Type)


def _bf16_as_integers(type_: Any) -> Any:
    return _integers(type_) if _is_bf16(type_) else type_


def _is_narrow_vector(type_: Any) -> bool:
    return isinstance(type_, ir.VectorType) and _is_narrow(type_.element_type)


def _is_narrow(type_: Any) -> bool:
    return isinstance(type_, (ir.BF16Type, ir.F16Type))


def _integers(type_: Any) -> Any:
    """The type with integers in place of narrow floats."""
    integer = ir.IntegerType.get_signless(16, type_.context)
    if _is_narrow_vector(type_):
        return ir.VectorType.get(type_.shape, integer)
    return integer if _is_narrow(type_) else type_


def _bitcast(value: Any, type_: Any) -> Any:
    if value.type == type_:
        return value
    return ir.Operation.create("llvm.bitcast", results=[type_], operands=[value]).result
