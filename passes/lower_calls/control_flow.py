# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scf's control flow with tensors: what leaves a region is memory of its own, which the block around owns then.

A region's values lie in the arena or in memory that the region gives back; so what it yields is copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Block, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, operations_of
from ...bindings.rewriting import located_error
from ...dialects.core.codec import decode
from ...dialects.core.infos import ScalarInfo, TensorInfo, describe
from . import memrefs
from .function import FunctionLowering, Lower


def _lowered_type(into: FunctionLowering, value: Value, op: Operation) -> Type:
    info = decode(value.type)
    if isinstance(info, TensorInfo) and info.shape is not None:
        # What the branches know of sizes differs; the type says the least.
        return memrefs.memref_type(info, into.context)
    if isinstance(info, ScalarInfo):
        return value.type
    raise located_error(f"'{op.name}' op carries {describe(info)}: only tensors and scalars are possible", op.location)


def _if(into: FunctionLowering, op: Operation) -> None:
    types = [_lowered_type(into, result, op) for result in op.results]
    made = ir.Operation.create("scf.if", results=types, operands=[into.get(op.operands[0])], regions=2)
    for source, target in zip(op.regions, made.regions, strict=True):
        if len(source.blocks):
            target.blocks.append()
            _lower_region(into, source.blocks[0], target.blocks[0], types)
    _own_results(into, op, made)


def _for(into: FunctionLowering, op: Operation) -> None:
    lower, upper, step, *initial = op.operands
    types = [_lowered_type(into, result, op) for result in op.results]
    carried = _hand_over(into, initial, types)
    bounds = [into.get(value) for value in (lower, upper, step)]
    made = ir.Operation.create("scf.for", results=types, operands=[*bounds, *carried], regions=1)
    made.regions[0].blocks.append(lower.type, *types)
    _lower_region(into, body_of(op), body_of(made), types)
    _own_results(into, op, made)


def _while(into: FunctionLowering, op: Operation) -> None:
    before_arguments = list(body_of(op).arguments)
    types = [_lowered_type(into, value, op) for value in before_arguments]
    results = [_lowered_type(into, result, op) for result in op.results]
    made = ir.Operation.create("scf.while", results=results, operands=_hand_over(into, op.operands, types), regions=2)
    made.regions[0].blocks.append(*types)
    made.regions[1].blocks.append(*results)
    _lower_region(into, body_of(op), body_of(made), results)
    _lower_region(into, op.regions[1].blocks[0], made.regions[1].blocks[0], types)
    _own_results(into, op, made)


def _lower_region(into: FunctionLowering, source: Block, target: Block, types: Sequence[Type]) -> None:
    """A block whose tensor arguments are its own, with what it yields in the end as memory of these types."""
    outer = into.sizes
    into.sizes = outer.nested()
    into.owned.append([])
    for argument, value in zip(source.arguments, target.arguments, strict=True):
        into.set(argument, value)
        if isinstance(value.type, ir.MemRefType):
            into.own(value)
    operations = operations_of(source)
    with ir.InsertionPoint(target):
        for argument, value in zip(source.arguments, target.arguments, strict=True):
            into.define_dims(decode(argument.type), value)
        into.lower_all(operations[:-1])
        _yield(into, operations[-1], types)
    into.sizes = outer


def _yield(into: FunctionLowering, op: Operation, types: Sequence[Type]) -> None:
    condition = [into.get(op.operands[0])] if op.name == "scf.condition" else []
    values = _hand_over(into, list(op.operands)[len(condition) :], types)
    into.give_back()
    ir.Operation.create(op.name, operands=[*condition, *values])


def _hand_over(into: FunctionLowering, values: Sequence[Value], types: Sequence[Type]) -> list[Value]:
    """Values for a block elsewhere to own: tensors are copied."""
    given: list[Value] = []
    for value, type_ in zip(values, types, strict=True):
        lowered = into.get(value)
        if isinstance(lowered.type, ir.MemRefType):
            lowered = memrefs.cast(memrefs.copied(lowered), type_)
        given.append(lowered)
    return given


def _own_results(into: FunctionLowering, op: Operation, made: Operation) -> None:
    for result, value in zip(op.results, made.results, strict=True):
        into.set(result, value)
        if isinstance(value.type, ir.MemRefType):
            into.own(value)
            into.define_dims(decode(result.type), value)


CONTROL_FLOW: dict[str, Lower] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
}
