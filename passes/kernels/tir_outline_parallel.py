# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining of parallel loops: their bodies become functions of a range of steps.

The body of a loop marked `tir.parallel` becomes a function, which the old function calls for the whole range:

    func.call @kernel.parallel(%from, %to, %grain, …) {tir.parallel}

A grain is how much of the range one thread takes at a time. Where there are no threads this is a call as any other;
host-call-parallel has threads share it. Calls that may run at the same time (relax-outline-branches) become a loop
first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import (
    ancestors,
    constant_of,
    functions_in,
    has_body,
    operations_in,
    operations_named,
    symbol_name,
    used_inside,
    users_of,
)
from ...bindings.rewriting import located_error, use_instead
from ...dialects.core.ir_attributes import PARALLEL
from ...emit.memrefs import is_dense
from ...emit.numbers import as_index
from ...support.names import fresh_name
from ..core.base import Pass
from ..core.registry import register_pass
from ..graph.branches.beside import share_calls

#: Operations that are repeated in the new function: constants, and other views of the same memory.
_MADE_AGAIN = frozenset(
    "arith.constant memref.get_global memref.cast memref.collapse_shape memref.expand_shape memref.reinterpret_cast "
    "memref.subview memref.view".split()
)


@register_pass
class OutlineParallel(Pass):
    """Outline parallel loops, and call the new functions for the whole range."""

    name: ClassVar[str] = "tir-outline-parallel"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "memref", "scf")

    def run(self, op: Operation) -> None:
        taken = {symbol_name(each) for each in functions_in(op)}
        with op.context:
            for function in [each for each in functions_in(op) if has_body(each)]:
                share_calls(function)
                loops = [
                    operation for operation in operations_named(function, "scf.for") if PARALLEL in operation.attributes
                ]
                shared = [
                    operation for operation in loops if not any(around in loops for around in ancestors(operation))
                ]
                for loop in shared:
                    if (outlined := _Outlined.of(loop)) is not None:
                        name = fresh_name(f"{symbol_name(function)}.parallel", taken)
                        taken.add(name)
                        outlined.move(function, name)
                for loop in loops:
                    del loop.attributes[PARALLEL]


def _steps_of_grain(loop: Operation) -> int:
    """Return the number of steps that one thread takes at a time, or 0 if the thread pool decides."""
    attribute = loop.attributes[PARALLEL]
    if not isinstance(attribute, ir.IntegerAttr) or attribute.value < 0:
        problem = f"attribute '{PARALLEL}' must be a number of steps, 0 or more, got {attribute}"
        raise located_error(problem, loop.location)
    return int(attribute.value)


@dataclass(frozen=True)
class _Outlined:
    """Outlined loop, with the values that its function takes and the operations that it repeats."""

    loop: Operation
    passed: list[Value]
    made_again: list[Operation]

    @staticmethod
    def of(loop: Operation) -> _Outlined | None:
        """Return None if the loop has to stay, because it has results or uses values that cannot be passed."""
        passed: list[Value] = []
        again: list[Operation] = []
        for value in (*used_inside(loop), loop.operands[2]):
            _survey(value, passed, again)
        can_be_passed = all(_can_be_passed(value.type) for value in passed)
        return _Outlined(loop, passed, again) if can_be_passed and not len(loop.results) else None

    def move(self, function: Operation, name: str) -> None:
        """Move the loop to a new function, and insert a call at its old place."""
        loop = self.loop
        first, last, step = loop.operands
        with loop.location:
            with ir.InsertionPoint(loop):
                known, steps = constant_of(step), _steps_of_grain(loop)
                grain = as_index(step) * steps if known is None else as_index(known * steps)
                _call(name, [first, last, grain.value, *self.passed])
            ranged = [ir.IndexType.get()] * 3
            with ir.InsertionPoint.after(function):
                block = _private_function(name, [*ranged, *(value.type for value in self.passed)])
            start, stop, _, *received = block.arguments
            with ir.InsertionPoint(block):
                made = dict(zip(self.passed, received, strict=True))
                for op in self.made_again:
                    copied = op.clone().operation
                    use_instead(copied, made)
                    made[op.result] = copied.result
                end = ir.Operation.create("func.return")
            loop.move_before(end)
            loop.operands[0], loop.operands[1], loop.operands[2] = start, stop, made[step]
            for op in operations_in(loop):
                use_instead(op, made)
            _allocate_once(loop, end)
            for op in [
                operation for operation in operations_named(loop, "memref.alloca") if not len(operation.operands)
            ]:
                op.move_before(loop)


def _survey(value: Value, passed: list[Value], again: list[Operation]) -> None:
    """Add a value to `passed`, or its producer, operands first, to `again`."""
    maker = None if isinstance(value.owner, ir.Block) else value.owner.operation
    if maker is None or maker.name not in _MADE_AGAIN:
        if value not in passed:
            passed.append(value)
    elif maker not in again:
        for operand in maker.operands:
            _survey(operand, passed, again)
        again.append(maker)


def _can_be_passed(type_: Type) -> bool:
    if isinstance(type_, ir.MemRefType):
        return type_.memory_space is None and is_dense(type_)
    return isinstance(type_, (ir.IndexType, ir.IntegerType, ir.FloatType, ir.VectorType))


def _call(name: str, operands: list[Value]) -> None:
    attributes = {"callee": ir.FlatSymbolRefAttr.get(name), PARALLEL: ir.UnitAttr.get()}
    ir.Operation.create("func.call", operands=operands, attributes=attributes)


def _private_function(name: str, inputs: list[Type]) -> ir.Block:
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, [])),
    }
    function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    return function.regions[0].blocks.append(*inputs)


def _allocate_once(loop: Operation, end: Operation) -> None:
    """Allocate memory of static size once for all steps of a call, instead of once per step."""
    for op in [operation for operation in operations_named(loop, "memref.alloc") if not len(operation.operands)]:
        frees = [user for user in users_of(op.result) if user.name == "memref.dealloc"]
        if len(frees) == 1 and frees[0].block == op.block:
            op.move_before(loop)
            frees[0].move_before(end)
