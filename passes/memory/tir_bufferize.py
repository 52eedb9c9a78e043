# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bufferization: PrimFuncs on tensors become PrimFuncs on memrefs that write their outputs in place."""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Module, Operation, Type, Value
from ...bindings.mlir import DYNAMIC, ir
from ...bindings.navigation import (
    body_of,
    constant_of,
    function_type_of,
    functions_in,
    has_body,
    last_of,
    made_by,
    operations_named,
    operations_of,
    symbol_name,
)
from ...bindings.pass_manager import run_upstream
from ...bindings.rewriting import located_error, replace_op
from ...dialects.tir.prim_func import prim_funcs_in
from ...emit.memrefs import copy
from ..core.base import Pass
from ..core.registry import register_pass
from .bufferize.lifetimes import end_allocations
from .bufferize.pieces import materialize, to_tensor, write_pieces

_SIMPLIFY = ["func.func(canonicalize,cse,canonicalize)"]
_BUFFERIZE = ["one-shot-bufferize{allow-return-allocs-from-loops=1}", *_SIMPLIFY]


@register_pass
class Bufferize(Pass):
    """Rewrite PrimFuncs on tensors to PrimFuncs on memrefs that write their outputs in place."""

    name: ClassVar[str] = "tir-bufferize"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "bufferization", "memref", "scf", "linalg", "cf")

    def run(self, op: Operation) -> None:
        if not (tensors := [function for function in prim_funcs_in(op) if is_on_tensors(function)]):
            return
        for function in tensors:
            take_memrefs(function)
            write_pieces(function)
        # Upstream's passes must not change graph functions and functions on memrefs: they run on a module without
        # these.
        body = body_of(op)
        order = operations_of(body)
        apart = ir.Module.create(op.location)
        with op.context, op.location:
            # PrimFuncs may call declared functions.
            for function in [*tensors, *(each for each in functions_in(op) if not has_body(each))]:
                apart.body.append(function.detach_from_parent())
        try:
            # The result is verified with the rest of the module, after this pass.
            run_upstream(apart.operation, _BUFFERIZE, verify=False)
            self._finish(apart)
        finally:
            # Globals that bufferization has made come first, then all operations in their old order.
            for view in list(apart.body.operations):
                body.append(view.operation.detach_from_parent())
            for operation in order:
                body.append(operation)

    def _finish(self, apart: Module) -> None:
        for op in operations_named(apart.operation, "memref.copy"):
            source, target = op.operands
            if not _is_seen_again(source, target):
                with op.context, op.location, ir.InsertionPoint(op):
                    copy(source, target)
            op.erase()
        if _fold_views(apart.operation):
            run_upstream(apart.operation, _SIMPLIFY, verify=False)
        for function in prim_funcs_in(apart.operation):
            end_allocations(function)


def _is_seen_again(source: Value, target: Value) -> bool:
    """Check whether a memref is the target with dimensions collapsed and expanded again.

    Upstream only recognizes that if at most one of the collapsed dimensions is dynamic.
    """
    expanded = made_by(source, "memref.expand_shape")
    joined = None if expanded is None else made_by(expanded.operands[0], "memref.collapse_shape")
    if expanded is None or joined is None or joined.operands[0] != target:
        return False
    is_same = joined.attributes["reassociation"] == expanded.attributes["reassociation"]
    return is_same and _is_laid_out_as(source.type, target.type)


def _is_laid_out_as(one: Type, other: Type) -> bool:
    """Compare shapes and strides: one type may spell out strides that are implicit in the other."""
    return one.shape == other.shape and one.get_strides_and_offset() == other.get_strides_and_offset()


def _fold_views(module: Operation) -> bool:
    """Replace memrefs that were collapsed and expanded again, for instance across a loop, by the original memrefs."""
    has_replaced = False
    for op in operations_named(module, "memref.expand_shape"):
        joined = made_by(op.operands[0], "memref.collapse_shape")
        if joined and _is_seen_again(op.result, joined.operands[0]) and _has_sizes_of(op, joined.operands[0]):
            replace_op(op, [joined.operands[0]])
            has_replaced = True
    return has_replaced


def _has_sizes_of(expanded: Operation, memref: Value) -> bool:
    """Check whether the dynamic sizes of the expansion are sizes of the memref itself."""
    axes = [axis for axis, size in enumerate(expanded.result.type.shape) if size == DYNAMIC]
    for axis, size in zip(axes, list(expanded.operands)[1:], strict=True):
        asked = made_by(size, "memref.dim")
        if asked is None or asked.operands[0] != memref or constant_of(asked.operands[1]) != axis:
            return False
    return True


def is_on_tensors(function: Operation) -> bool:
    inputs = function_type_of(function).inputs
    return any(isinstance(type_, (ir.RankedTensorType, ir.UnrankedTensorType)) for type_ in inputs)


def take_memrefs(function: Operation) -> None:
    """Turn parameters into memrefs. The body reads tensors of them, and writes the returned values to the last ones."""
    block = body_of(function)
    if len(function.regions[0].blocks) > 1:
        name = symbol_name(function)
        raise located_error(
            f"@{name} is on tensors and has several blocks: write loops and branches as scf's", function.location
        )
    end = last_of(block)
    with function.context, function.location:
        memrefs = [argument for argument in block.arguments if isinstance(argument.type, ir.RankedTensorType)]
        returned = list(end.operands)
        outputs = list(block.arguments)[len(block.arguments) - len(returned) :]
        with ir.InsertionPoint.at_block_begin(block):
            for argument in memrefs:
                returned = _take_memref(argument, argument in outputs, returned)
        with ir.InsertionPoint(end):
            for value, output in zip(returned, outputs, strict=True):
                materialize(value, output)
            ir.Operation.create("func.return")
        end.erase()
        types = [argument.type for argument in block.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))


def _take_memref(argument: Value, is_output: bool, returned: list[Value]) -> list[Value]:
    tensor = argument.type
    argument.set_type(ir.MemRefType.get(tensor.shape, tensor.element_type))
    made = to_tensor(argument, tensor, writable=is_output)
    argument.replace_all_uses_except(made, made.owner.operation)
    return [made if value == argument else value for value in returned]
