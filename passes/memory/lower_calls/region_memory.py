# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow (scf) with tensors: memory of yielded tensors, owned by the block around the region.

A tensor whose sizes are known before the region has a buffer there, which the region writes. Other tensors are copied
into memory that the region hands over. carrying.py implements loop-carried values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ....bindings.ir import Block, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import blocks_of, body_of, last_of, operations_of
from ....bindings.rewriting import located_error
from ....dialects.core.codec import decode
from ....dialects.core.infos import ScalarInfo, TensorInfo, describe
from ....emit import memrefs
from ....emit.memrefs import is_same_shape
from .carrying import Carried, Gathered, StackState, carry_conditional_loop, carry_counted_loop, fill, make_in
from .function_lowering import FunctionLowering, Lower


def _lowered_type(into: FunctionLowering, value: Value, op: Operation) -> Type:
    info = decode(value.type)
    if isinstance(info, TensorInfo) and info.shape is not None:
        # Branches may know different sizes, so the type states the least.
        return memrefs.memref_type(info, into.context)
    if isinstance(info, ScalarInfo):
        return value.type
    raise located_error(f"'{op.name}' op carries {describe(info)}: only tensors and scalars are possible", op.location)


def _if(into: FunctionLowering, op: Operation) -> None:
    types = [_lowered_type(into, result, op) for result in op.results]
    slots = [_slot(into, op, result, type_) for result, type_ in zip(op.results, types, strict=True)]
    passed = [type_ for type_, slot in zip(types, slots, strict=True) if slot is None]
    made = ir.Operation.create("scf.if", results=passed, operands=[into.get(op.operands[0])], regions=2)
    for source, target in zip(op.regions, made.regions, strict=True):
        if len(source.blocks):
            target.blocks.append()
            _lower_branch(into, source.blocks[0], target.blocks[0], slots, passed)
    results = iter(made.results)
    for result, slot, type_ in zip(op.results, slots, types, strict=True):
        if slot is None:
            _own(into, result, next(results))
        else:
            _set(into, result, memrefs.cast(slot, type_))


def _slot(into: FunctionLowering, op: Operation, result: Value, type_: Type) -> Value | None:
    """Return a buffer that all branches write a result into, or None for a result that branches hand over."""
    info, *yielded = (decode(value.type) for value in (result, *_yielded_values(op, result)))
    if not isinstance(info, TensorInfo) or info.shape is None:
        return None
    is_known = all(map(into.sizes.knows, info.shape)) and all(is_same_shape(info, each) for each in yielded)
    return into.new_slot(into.extents(info), type_.element_type) if is_known else None


def _yielded_values(op: Operation, result: Value) -> list[Value]:
    return [last_of(block).operands[result.result_number] for block in blocks_of(op)]


def _lower_branch(
    into: FunctionLowering, source: Block, target: Block, slots: Sequence[Value | None], passed: Sequence[Type]
) -> None:
    """Lower a branch, which writes the buffers and hands over other results as memory of these types."""
    outer = into.sizes
    into.sizes = outer.nested()
    into.owned.append([])
    *operations, end = operations_of(source)
    pairs = list(zip(end.operands, slots, strict=True))
    filled = [(value, slot) for value, slot in pairs if slot is not None]
    for value, slot in filled:
        make_in(into, value, slot, source)
    with ir.InsertionPoint(target):
        into.lower_all(operations)
        for value, slot in filled:
            fill(into, value, slot)
        values = _hand_over(into, [value for value, slot in pairs if slot is None], passed)
        into.give_back()
        ir.Operation.create(end.name, operands=values)
    into.sizes = outer


def _lower_for(into: FunctionLowering, op: Operation) -> None:
    lower, upper, step, *initial = op.operands
    types = [_lowered_type(into, result, op) for result in op.results]
    carried = carry_counted_loop(into, op, types)
    given = [each.given(value) for each, value in zip(carried, initial, strict=True)]
    flat = [value for values in given for value in values]
    bounds = [into.get(value) for value in (lower, upper, step)]
    passed = [value.type for value in flat]
    made = ir.Operation.create("scf.for", results=passed, operands=[*bounds, *flat], regions=1)
    made.regions[0].blocks.append(lower.type, *passed)
    (position, *arguments), counts = body_of(made).arguments, list(map(len, given))
    into.set(body_of(op).arguments[0], position)
    _lower_turn(into, body_of(op), body_of(made), carried, _split(arguments, counts), position)
    _set_results(into, op, made, carried, counts)


def _set_results(
    into: FunctionLowering, op: Operation, operation: Operation, carried: Sequence[Carried], counts: Sequence[int]
) -> None:
    for result, each, values in zip(op.results, carried, _split(operation.results, counts), strict=True):
        _set(into, result, each.result(values))


def _lower_turn(
    into: FunctionLowering,
    source: Block,
    target: Block,
    carried: Sequence[Carried],
    arguments: Sequence[Sequence[Value]],
    position: Value | None = None,
) -> None:
    """Lower a loop's body. `arguments` are the block arguments for each carried value."""
    outer = into.sizes
    into.sizes = outer.nested()
    into.owned.append([])
    *operations, end = operations_of(source)
    gathered = [into.plan.gathered[each.argument] for each in carried if isinstance(each, Gathered)]
    done = [operation for gathering in gathered for operation in (gathering.call, *gathering.casts)]
    with ir.InsertionPoint(target):
        for each, values in zip(carried, arguments, strict=True):
            each.enter(position, values)
            if not isinstance(each, Gathered):
                into.define_dims(decode(each.argument.type), into.get(each.argument))
        into.lower_all([operation for operation in operations if operation not in done])
        buffers = {each.memory for each in carried if isinstance(each, StackState)}
        for each, yielded in zip(carried, end.operands, strict=True):
            each.settle(yielded, buffers)
        values = [value for each, yielded in zip(carried, end.operands, strict=True) for value in each.leave(yielded)]
        into.give_back()
        ir.Operation.create(end.name, operands=values)
    into.sizes = outer


def _split(values: Sequence[Value], counts: Iterable[int]) -> list[list[Value]]:
    rest = iter(values)
    return [list(islice(rest, count)) for count in counts]


def _while(into: FunctionLowering, op: Operation) -> None:
    if list(last_of(body_of(op)).operands)[1:] == list(body_of(op).arguments):
        _while_of_state(into, op)
    else:
        _while_of_copies(into, op)


def _while_of_state(into: FunctionLowering, op: Operation) -> None:
    """Lower a loop whose condition passes its arguments on, so that both blocks share the memory."""
    types = [_lowered_type(into, value, op) for value in body_of(op).arguments]
    carried = carry_conditional_loop(into, op, types)
    given = [each.given(value) for each, value in zip(carried, op.operands, strict=True)]
    flat, counts = [value for values in given for value in values], list(map(len, given))
    passed = [value.type for value in flat]
    made = ir.Operation.create("scf.while", results=passed, operands=flat, regions=2)
    for region in made.regions:
        region.blocks.append(*passed)
    before, after = (region.blocks[0] for region in made.regions)
    _lower_condition(into, body_of(op), before, carried, _split(before.arguments, counts))
    _lower_turn(into, op.regions[1].blocks[0], after, carried, _split(after.arguments, counts))
    _set_results(into, op, made, carried, counts)


def _lower_condition(
    into: FunctionLowering,
    source: Block,
    target: Block,
    carried: Sequence[Carried],
    arguments: Sequence[Sequence[Value]],
) -> None:
    outer = into.sizes
    into.sizes = outer.nested()
    into.owned.append([])
    *operations, end = operations_of(source)
    with ir.InsertionPoint(target):
        for argument, each, values in zip(source.arguments, carried, arguments, strict=True):
            into.set(argument, each.shown(values))
            into.define_dims(decode(argument.type), into.get(argument))
        into.lower_all(operations)
        condition = into.get(end.operands[0])
        into.give_back()
        ir.Operation.create(end.name, operands=[condition, *target.arguments])
    into.sizes = outer


def _while_of_copies(into: FunctionLowering, op: Operation) -> None:
    """Lower a loop whose condition passes on other values: each block owns its arguments."""
    types = [_lowered_type(into, value, op) for value in list(body_of(op).arguments)]
    results = [_lowered_type(into, result, op) for result in op.results]
    made = ir.Operation.create("scf.while", results=results, operands=_hand_over(into, op.operands, types), regions=2)
    made.regions[0].blocks.append(*types)
    made.regions[1].blocks.append(*results)
    _lower_region(into, body_of(op), body_of(made), results)
    _lower_region(into, op.regions[1].blocks[0], made.regions[1].blocks[0], types)
    _own_results(into, op, made)


def _lower_region(into: FunctionLowering, source: Block, target: Block, types: Sequence[Type]) -> None:
    """Lower a block that owns its tensor arguments and hands over the yielded values as memory of these types."""
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
        op = operations[-1]
        condition = [into.get(op.operands[0])] if op.name == "scf.condition" else []
        values = _hand_over(into, list(op.operands)[len(condition) :], types)
        into.give_back()
        ir.Operation.create(op.name, operands=[*condition, *values])
    into.sizes = outer


def _hand_over(into: FunctionLowering, values: Sequence[Value], types: Sequence[Type]) -> list[Value]:
    """Return values for another block to own. Tensors are copied."""
    given: list[Value] = []
    for value, type_ in zip(values, types, strict=True):
        lowered = into.get(value)
        if isinstance(lowered.type, ir.MemRefType):
            lowered = memrefs.cast(memrefs.copied(lowered), type_)
        given.append(lowered)
    return given


def _own_results(into: FunctionLowering, op: Operation, operation: Operation) -> None:
    for result, value in zip(op.results, operation.results, strict=True):
        _own(into, result, value)


def _own(into: FunctionLowering, result: Value, value: Value) -> None:
    if isinstance(value.type, ir.MemRefType):
        into.own(value)
    _set(into, result, value)


def _set(into: FunctionLowering, result: Value, value: Value) -> None:
    into.set(result, value)
    if isinstance(value.type, ir.MemRefType):
        into.define_dims(decode(result.type), value)


CONTROL_FLOW: dict[str, Lower] = {
    "scf.if": _if,
    "scf.for": _lower_for,
    "scf.while": _while,
}
