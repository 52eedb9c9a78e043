# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Storage of bf16 as integers of the same width, and moves of f16 vector elements as integers.

On CPUs without instructions for these types, LLVM widens some values and calls compiler-rt to narrow them again, which
is not linked. LLVM does this for values that are shuffled, inserted at a dynamic index, stored under a mask, or used in
several blocks. Most bf16 arithmetic has become integer arithmetic already. The remaining operations receive bf16 right
before they compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import ancestors, operations_in, operations_named, parent_of
from ....bindings.rewriting import made_again, replace_op
from ....emit.arithmetic import element_type, with_element
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass

_MOVING = frozenset(
    f"llvm.{name}"
    for name in ("extractelement", "insertelement", "intr.masked.load", "intr.masked.store", "select", "shufflevector")
)
# Operations that accept integers as well.
_RETYPED = _MOVING | {f"llvm.{name}" for name in "bitcast br cond_br load mlir.poison mlir.undef store switch".split()}
# Operations that produce bf16 elements, and stores, whose operand may be a constant: LLVM cannot store such a constant.
_SOURCES = frozenset(("llvm.bitcast", "llvm.intr.masked.load", "llvm.load"))
_STORES = frozenset(("llvm.intr.masked.store", "llvm.store"))


@register_pass
class StoreNarrowFloats(Pass):
    """Store bf16 as integers of the same width, and move f16 vector elements as integers."""

    name: ClassVar[str] = "llvm-store-narrow-floats"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)

    def run(self, op: Operation) -> None:
        with op.context:
            touching = filter(_touches_bf16, operations_named(op, *_SOURCES, *_STORES))
            for function in dict.fromkeys(_directly_inside(op, each) for each in touching):
                _retype(function, operations_in(function))
            for operation in operations_named(op, *_MOVING):
                _move_integers(operation)


def _directly_inside(module: Operation, op: Operation) -> Operation:
    """Return the operation of a module's body that contains an operation."""
    return next(ancestor for ancestor in (op, *ancestors(op)) if parent_of(ancestor) == module)


def _touches_bf16(op: Operation) -> bool:
    return _is_bf16(op.operands[0].type if op.name in _STORES else op.results[0].type)


def _retype(function: Operation, inside: list[Operation]) -> None:
    """Change bf16 values to integers, except for parameters, results of calls, constants, and arithmetic."""
    entry, *blocks = function.regions[0].blocks
    others = [each for each in inside if each.name not in _RETYPED]
    types = [[operand.type for operand in each.operands] for each in others]
    moved = [result for each in inside if each.name in _RETYPED for result in each.results]
    for value in (*moved, *(argument for block in blocks for argument in block.arguments)):
        if _is_bf16(value.type):
            value.set_type(_integers(value.type))
    with function.location, ir.InsertionPoint.at_block_begin(entry):
        _spread_integers(entry.arguments)
    for operation in others:
        with operation.location, ir.InsertionPoint.after(operation):
            _spread_integers(operation.results)
    for each, wanted in zip(others, types, strict=True):
        with each.location, ir.InsertionPoint(each):
            for index, type_ in enumerate(wanted):
                if each.operands[index].type != type_:
                    each.operands[index] = _bitcast(each.operands[index], type_)


def _spread_integers(values: Sequence[Value]) -> None:
    """Replace uses of values that stay bf16 by integers."""
    for value in values:
        if _is_bf16(value.type):
            integers = _bitcast(value, _integers(value.type))
            value.replace_all_uses_except(integers, integers.owner.operation)


def _move_integers(op: Operation) -> None:
    types = [value.type for value in (*op.operands, *op.results)]
    if not any(isinstance(type_, ir.VectorType) and _is_narrow(type_) for type_ in types):
        return
    with op.location, ir.InsertionPoint(op):
        operands = [_bitcast(value, _integers(value.type)) for value in op.operands]
        moved = made_again(op, operands, list(map(_integers, op.results.types)))
        replace_op(op, list(map(_bitcast, moved.results, op.results.types)))


def _is_bf16(type_: Type) -> bool:
    return isinstance(element_type(type_), ir.BF16Type)


def _is_narrow(type_: Type) -> bool:
    return isinstance(element_type(type_), (ir.BF16Type, ir.F16Type))


def _integers(type_: Type) -> Type:
    """Return the type with integers instead of narrow floats."""
    return with_element(type_, ir.IntegerType.get_signless(16, type_.context)) if _is_narrow(type_) else type_


def _bitcast(value: Value, type_: Type) -> Value:
    if value.type == type_:
        return value
    return ir.Operation.create("llvm.bitcast", results=[type_], operands=[value]).result
