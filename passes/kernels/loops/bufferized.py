# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bufferization for schedules: a PrimFunc over memory with one block and separate buffers per operation."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Module as MlirModule
from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import (
    body_of,
    functions_in,
    has_body,
    made_by,
    operations_named,
    operations_of,
    parent_of,
    symbol_name,
)
from ....dialects.core.ir_attributes import LOOPS, SCHEDULE
from ....dialects.tir.prim_func import schedule_lines
from ....emit import linalg
from ....emit.generic import GenericOp
from ...core.pipeline import Pipeline
from .text_loops import block_names
from .tree_reader import Read, name_of, read_tree


class Scratch:
    """Copy of a PrimFunc over memory, with the tree that was read from it."""

    def __init__(self, function: Operation, module: MlirModule | None = None):
        """Copy a function. If `module` is set, it already contains the copy over memory."""
        name = symbol_name(function)
        self.module = module or copied([function])
        self.function = find(self.module, name) if module else over_memory(self.module, name)
        self.read: Read = read_tree(self.function)
        if LOOPS in self.function.attributes:
            del self.function.attributes[LOOPS]


def copied(functions: Sequence[Operation]) -> MlirModule:
    """Return a module with copies of the functions and the declarations that they may call."""
    (first, *_), around = functions, parent_of(functions[0])
    with first.context, first.location:
        module: MlirModule = ir.Module.create()
        for each in functions_in(around) if around is not None else ():
            if not has_body(each):
                each.clone(ip=ir.InsertionPoint(module.body))
        for function in functions:
            operation = function.clone(ip=ir.InsertionPoint(module.body)).operation
            if SCHEDULE in operation.attributes:
                del operation.attributes[SCHEDULE]
    return module


def find(module: MlirModule, name: str) -> Operation:
    return next(function for function in functions_in(module.operation) if symbol_name(function) == name)


def over_memory(module: MlirModule, name: str) -> Operation:
    """Bufferize a module and return one of its PrimFuncs. All linalg operations in it are generic."""
    bufferize(module)
    return find(module, name)


def bufferize(module: MlirModule, *, in_place: bool = False) -> None:
    """Bufferize a module. With `in_place`, operations that overwrite a tensor other than a reduction's still do so."""
    for function in functions_in(module.operation):
        if has_body(function):
            _keep_apart(function, in_place)
    steps = ["tir-bufferize", "func.func(linalg-generalize-named-ops,canonicalize,cse)"]
    Pipeline(steps, verify_each=False).run(module, all_or_nothing=False)


def _keep_apart(function: Operation, in_place: bool) -> None:
    """Give the result of each operation a tensor of its own.

    Earlier passes may have merged equal tensors or let an operation overwrite its input. Separate tensors keep the
    blocks equal, no matter which passes have run since the schedule was written. Operations that the schedule's loop
    text names as blocks stay as they are.
    """
    named = block_names(schedule_lines(function, LOOPS) or [])
    for op in reversed(operations_of(body_of(function))):
        if op.name.startswith("linalg.") and not (in_place and not _goes_on_with_sums(op)):
            _write_elsewhere(op)
        is_filling = op.name.startswith("linalg.") and _is_filling(op) and not (named and name_of(op.location) in named)
        if (op.name == "tensor.empty" and not in_place) or is_filling:
            _make_for_each(op)


def _goes_on_with_sums(op: Operation) -> bool:
    """Return True if the overwritten tensor is the result of a reduction."""
    maker = made_by(op.operands[len(op.operands) - 1], "linalg.generic")
    return maker is not None and bool(GenericOp(maker).reductions)


def _make_for_each(op: Operation) -> None:
    """Duplicate the initial tensor of several operations for each of them.

    Linalg operations get the copy directly before them, as the init of their reduction.
    """
    uses = list(op.results[0].uses) if len(op.results) == 1 else []
    users = [use.owner.operation for use in uses]
    is_near = all(user.name.startswith("linalg.") for user in users)
    for use, user in list(zip(uses, users, strict=True))[1:]:
        with ir.InsertionPoint(user if is_near else op):
            user.operands[use.operand_number] = op.clone().results[0]
    if users and is_near:
        op.move_before(users[0])


def _is_filling(op: Operation) -> bool:
    """Return True if the operation fills a tensor from scalars only."""
    reads = bool(operations_named(op, "tensor.extract"))
    inputs = list(op.operands)[: op.attributes["operandSegmentSizes"][0]]
    return not reads and all(not isinstance(operand.type, ir.RankedTensorType) for operand in inputs)


def _write_elsewhere(op: Operation) -> None:
    """Write the result to another tensor, if the operation overwrites a tensor without reading it.

    The result gets the memory in which that tensor was computed, and that tensor gets new memory.
    """
    if op.name != "linalg.generic" or len(op.results) != 1:
        return
    target, block = op.operands[len(op.operands) - 1], body_of(op)
    argument = block.arguments[len(block.arguments) - 1]
    if next(iter(argument.uses), None) is not None or made_by(target) is None:
        return
    first = target
    while (maker := made_by(first)) is not None and maker.name.startswith("linalg.") and len(maker.results) == 1:
        user, first = maker, maker.operands[len(maker.operands) - 1]
    if first == target or first.type != target.type:
        return
    with ir.InsertionPoint(user), user.location:
        user.operands[len(user.operands) - 1] = linalg.empty(linalg.sizes(first), first.type.element_type)
    op.operands[len(op.operands) - 1] = first
