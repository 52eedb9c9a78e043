# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow (scf) with tensors: what leaves a region is memory of its own, owned by the block around it.

A region's values are in the arena or in memory that the region frees; so what it yields is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ...bindings.ir import Block, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, operations_of
from ...bindings.rewriting import located_error
from ...dialects.core.codec import decode
from ...dialects.core.infos import ScalarInfo, TensorInfo, describe
from ...emit import memrefs
from .carrying import Carried, Gathered, carried_by
from .function_lowering import FunctionLowering, Lower


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
    carried = carried_by(into, op, types)
    given = [each.given(value) for each, value in zip(carried, initial, strict=True)]
    flat = [value for values in given for value in values]
    bounds = [into.get(value) for value in (lower, upper, step)]
    passed = [value.type for value in flat]
    made = ir.Operation.create("scf.for", results=passed, operands=[*bounds, *flat], regions=1)
    made.regions[0].blocks.append(lower.type, *passed)
    _lower_turn(into, body_of(op), body_of(made), carried, list(map(len, given)))
    for result, each, values in zip(op.results, carried, _parted(made.results, map(len, given)), strict=True):
        _set(into, result, each.result(values))


def _lower_turn(
    into: FunctionLowering, source: Block, target: Block, carried: Sequence[Carried], counts: Sequence[int]
) -> None:
    """The body of a counted loop; what is carried says what of it is there for each."""
    outer = into.sizes
    into.sizes = outer.nested()
    into.owned.append([])
    position, *arguments = target.arguments
    *operations, end = operations_of(source)
    gathered = [into.plan.gathered[each.argument] for each in carried if isinstance(each, Gathered)]
    done = [operation for gathering in gathered for operation in (gathering.call, *gathering.casts)]
    with ir.InsertionPoint(target):
        into.set(source.arguments[0], position)
        for each, values in zip(carried, _parted(arguments, counts), strict=True):
            each.enter(position, values)
            if not isinstance(each, Gathered):
                into.define_dims(decode(each.argument.type), into.get(each.argument))
        into.lower_all([operation for operation in operations if operation not in done])
        values = [value for each, yielded in zip(carried, end.operands, strict=True) for value in each.leave(yielded)]
        into.give_back()
        ir.Operation.create(end.name, operands=values)
    into.sizes = outer


def _parted(values: Sequence[Value], counts: Iterable[int]) -> list[list[Value]]:
    rest = iter(values)
    return [list(islice(rest, count)) for count in counts]


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
        if isinstance(value.type, ir.MemRefType):
            into.own(value)
        _set(into, result, value)


def _set(into: FunctionLowering, result: Value, value: Value) -> None:
    into.set(result, value)
    if isinstance(value.type, ir.MemRefType):
        into.define_dims(decode(result.type), value)


CONTROL_FLOW: dict[str, Lower] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
}
