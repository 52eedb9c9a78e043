# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of scf.if, scf.for and scf.while: the backward pass recomputes each iteration from its initial state.

A loop stores the initial states that the backward pass needs (states.py). With `checkpoint_every` above 1 it becomes a
loop over parts of that many iterations. It stores the initial state of each part, and the backward pass of a part
stores the initial states of its iterations. If the trip count is unknown, the loop counts its iterations, and stores
the initial states of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from relax_mlir.bindings.ir import Attribute, Block, Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, constant_of, operations_in, operations_of, used_inside
from relax_mlir.bindings.rewriting import located_error, replace_op
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import ScalarInfo, TensorInfo, is_float
from relax_mlir.dialects.core.ir_attributes import PART_OF_LOOP, RELAX_TARGET
from relax_mlir.emit.numbers import Number, constant, minimum, number, operation
from relax_mlir.passes.graph.decompose.tensor_formulas import zeros_for

from .states import Column, States, erase_unused, is_repeatable, stand_in


class Options(NamedTuple):
    """Options for the differentiation of loops."""

    #: Number of iterations from one stored state to the next.
    checkpoint_every: int = 1
    #: Replace loops by loops that also store states. Otherwise such loops are added.
    replaces_loops: bool = False


#: `inside(seeds, xs, known)`: the gradients by the xs within a region, for seeds at some values.
Inside = Callable[[Sequence[tuple[Value, Value]], Sequence[Value], Iterable[Value]], list[Value]]


class DifferentiatedRegion(NamedTuple):
    """Operation with regions, the gradients of its results, and the differentiated values that its regions capture."""

    operation: Operation
    arriving: Sequence[Any]
    captured: list[Value]
    inside: Inside
    options: Options


def _if(region: DifferentiatedRegion) -> list[tuple[Value, Value]]:
    """Add an scf.if with the same condition. Its branches compute the gradients of captured values."""
    operation = region.operation
    types = [_type_of_gradient(value) for value in region.captured]
    held = _target_of(operation)
    made = ir.Operation.create("scf.if", results=types, operands=[operation.operands[0]], attributes=held, regions=2)
    known = used_inside(operation)
    for place, target in enumerate(made.regions):
        block = target.blocks.append()
        with ir.InsertionPoint(block):
            results = _repeat_region(operation, [], block, region=place)
            seeds = [(value, seed) for value, seed in zip(results, region.arriving, strict=True) if seed is not None]
            ir.Operation.create("scf.yield", operands=region.inside(seeds, region.captured, known))
        erase_unused(operations_of(block))
    return list(zip(region.captured, made.results, strict=True))


def _differentiate_for(region: DifferentiatedRegion) -> list[tuple[Value, Value]]:
    """Add a loop from the last iteration to the first."""
    loop = region.operation
    every, replaces_loops = region.options
    if every > 1 and replaces_loops and PART_OF_LOOP not in loop.attributes:
        loop = _split_loop(loop, every)
    lower, upper, step, *initial = loop.operands
    floats = [place for place, state in enumerate(initial) if _has_gradient(state)]
    known, states = used_inside(loop), States(loop, initial)
    # A state that is dead after the loop may have grown in it.
    begin = [_or_zeros(region.arriving[place], loop.results[place]) for place in floats]
    begin += [zeros_for(value) for value in region.captured]

    count = _count(lower, upper, step)
    zero, one = constant(0, lower.type).value, constant(1, lower.type).value
    back = _loop(loop, [zero, count.value, one], begin)
    block = body_of(back)
    with ir.InsertionPoint(block):
        turn = count - 1 - number(block.arguments[0])
        values = states.at(turn)
        results = _repeat_region(loop, [_index_of(turn, lower, step), *values], block)
        arriving, sums = _split(list(block.arguments)[1:], len(floats))
        seeds = [(results[place], gradient) for place, gradient in zip(floats, arriving, strict=True)]
        by_state, by_captured = _split(
            region.inside(seeds, [*(values[place] for place in floats), *region.captured], known), len(floats)
        )
        more = [relax.add(*pair) for pair in zip(sums, by_captured, strict=True)]
        ir.Operation.create("scf.yield", operands=[*by_state, *more])
    erase_unused(operations_of(block))
    columns = states.columns()
    with ir.InsertionPoint(loop if replaces_loops else back):
        results, grown = _split(list(_gathering(loop, columns, replaces_loops).results), len(initial))
    states.settle(grown)
    if replaces_loops:
        replace_op(loop, results)
    return list(zip([*(initial[place] for place in floats), *region.captured], back.results, strict=True))


def _while(region: DifferentiatedRegion) -> list[tuple[Value, Value]]:
    """Add a loop from the last iteration to the first. It starts with the gradients of the last evaluated condition."""
    loop, replaces_loops = region.operation, region.options.replaces_loops
    initial, known = list(loop.operands), used_inside(loop)
    floats = [place for place, state in enumerate(initial) if _has_gradient(state)]
    states = States(loop, initial)
    tests = stand_in(ir.IndexType.get())
    count = number(tests) - 1

    def states_of(turn: Number) -> tuple[list[Value], list[Value]]:
        """Return the initial states of an iteration, and the values to differentiate by in it."""
        values = states.at(turn)
        return values, [*(values[place] for place in floats), *region.captured]

    values, xs = states_of(count)
    _, *given = _repeat_region(loop, values)
    seeds = [(value, seed) for value, seed in zip(given, region.arriving, strict=True) if seed is not None]
    zero, one = (constant(each, tests.type).value for each in (0, 1))
    back = _loop(loop, [zero, count.value, one], region.inside(seeds, xs, known))
    block = body_of(back)
    with ir.InsertionPoint(block):
        values, xs = states_of(count - 1 - number(block.arguments[0]))
        _, *given = _repeat_region(loop, values, block)
        after = _repeat_region(loop, given, block, region=1)
        arriving, sums = _split(list(block.arguments)[1:], len(floats))
        seeds = [(after[place], gradient) for place, gradient in zip(floats, arriving, strict=True)]
        by_state, by_captured = _split(region.inside(seeds, xs, known), len(floats))
        more = [relax.add(*pair) for pair in zip(sums, by_captured, strict=True)]
        ir.Operation.create("scf.yield", operands=[*by_state, *more])
    erase_unused(operations_of(block))
    erase_unused(_from_to(tests.owner.operation, back))
    columns = states.columns()
    with ir.InsertionPoint(loop if replaces_loops else tests.owner):
        gathering = _counting(loop, columns, replaces_loops)
    results, (turns, *grown) = _split(list(gathering.results), len(loop.results))
    replace_op(tests.owner, [turns])
    states.settle(grown)
    if replaces_loops:
        replace_op(loop, results)
    return list(zip([*(initial[place] for place in floats), *region.captured], back.results, strict=True))


#: Derivatives of operations with regions by name: pairs of a value and a gradient of it.
CONTROL_FLOW: dict[str, Callable[[DifferentiatedRegion], list[tuple[Value, Value]]]] = {
    "scf.if": _if,
    "scf.for": _differentiate_for,
    "scf.while": _while,
}


def _or_zeros(gradient: Value | None, like: Value) -> Value:
    return zeros_for(like) if gradient is None else gradient


def _split(values: list[Value], count: int) -> tuple[list[Value], list[Value]]:
    return values[:count], values[count:]


def _has_gradient(value: Value) -> bool:
    info = decode(value.type)
    return isinstance(info, (ScalarInfo, TensorInfo)) and is_float(info.dtype)


def _type_of_gradient(value: Value) -> Type:
    info = decode(value.type)
    return ir.RankedTensorType.get([], value.type) if isinstance(info, ScalarInfo) else value.type


def _from_to(first: Operation, last: Operation) -> list[Operation]:
    """Return the operations of a block from one to another."""
    together = operations_of(first.block)
    return together[together.index(first) : together.index(last) + 1]


def _target_of(operation: Operation) -> dict[str, Attribute]:
    """Return the attribute for the target of an operation, which also holds for the derivative."""
    return {RELAX_TARGET: operation.attributes[RELAX_TARGET]} if RELAX_TARGET in operation.attributes else {}


def _loop(like: Operation, bounds: Sequence[Value], initial: Sequence[Value]) -> Operation:
    """Create a loop without a body, for the target of another loop."""
    types, operands = [value.type for value in initial], [*bounds, *initial]
    loop = ir.Operation.create("scf.for", results=types, operands=operands, attributes=_target_of(like), regions=1)
    loop.regions[0].blocks.append(bounds[0].type, *types)
    return loop


def _count(lower: Value, upper: Value, step: Value) -> Number:
    """Return a loop's trip count, or a number below 0 for none."""
    length = number(upper) if constant_of(lower) == 0 else number(upper) - number(lower)
    return length if constant_of(step) == 1 else operation("arith.ceildivsi", [length, step], upper.type)


def _index_of(turn: Number, lower: Value, step: Value) -> Value:
    """Return the induction variable of an iteration."""
    distance = turn if constant_of(step) == 1 else turn * number(step)
    return distance.value if constant_of(lower) == 0 else (number(lower) + distance).value


# ---- loops that keep what their turns begin with ----


def _gathering(loop: Operation, columns: Sequence[Column], has_effects: bool) -> Operation:
    """Create a loop that also returns columns of the states at the start of each iteration."""
    count = len(loop.results)
    made = _loop(loop, list(loop.operands)[:3], [*list(loop.operands)[3:], *(column.empty() for column in columns)])
    for name in loop.attributes:
        made.attributes[name] = loop.attributes[name]
    block = body_of(made)
    index, *states = block.arguments
    states, held = _split(states, count)
    with ir.InsertionPoint(block):
        grown = [column.grown(rows, states) for column, rows in zip(columns, held, strict=True)]
        results = _repeat_region(loop, [index, *states], block, has_effects=has_effects)
        ir.Operation.create("scf.yield", operands=[*results, *grown])
    return made


def _counting(loop: Operation, columns: Sequence[Column], has_effects: bool) -> Operation:
    """Create a loop that also returns the number of evaluated conditions, and columns of the states at each."""
    initial, given = list(loop.operands), len(loop.results)
    more = [constant(0, ir.IndexType.get()).value, *(column.empty() for column in columns)]
    types = [*loop.results.types, *(value.type for value in more)]
    made = ir.Operation.create("scf.while", results=types, operands=[*initial, *more], regions=2)
    for name in loop.attributes:
        made.attributes[name] = loop.attributes[name]
    before = made.regions[0].blocks.append(*(value.type for value in (*initial, *more)))
    states, (count, *held) = _split(list(before.arguments), len(initial))
    with ir.InsertionPoint(before):
        grown = [column.grown(rows, states) for column, rows in zip(columns, held, strict=True)]
        results = _repeat_region(loop, states, before, has_effects=has_effects)
        ir.Operation.create("scf.condition", operands=[*results, (number(count) + 1).value, *grown])
    after = made.regions[1].blocks.append(*types)
    with ir.InsertionPoint(after):
        forwarded, kept = _split(list(after.arguments), given)
        results = _repeat_region(loop, forwarded, after, region=1, has_effects=has_effects)
        ir.Operation.create("scf.yield", operands=[*results, *kept])
    return made


def _split_loop(loop: Operation, every: int) -> Operation:
    """Replace a loop by a loop over parts of `every` iterations."""
    lower, upper, step, *initial = loop.operands
    with loop.location, ir.InsertionPoint(loop):
        turns = constant_of(step)
        stride = (number(step) * every if turns is None else constant(turns * every, step.type)).value
        outer = _loop(loop, [lower, upper, stride], initial)
    index, *states = body_of(outer).arguments
    with loop.location, ir.InsertionPoint(body_of(outer)):
        # If the rest overflows in an addition to the index, it is larger than a part.
        rest = minimum(number(upper) - number(index), number(stride))
        inner = _loop(loop, [index, (number(index) + rest).value, step], states)
        inner.attributes[PART_OF_LOOP] = ir.UnitAttr.get()
        ir.Operation.create("scf.yield", operands=list(inner.results))
    index, *states = body_of(inner).arguments
    with loop.location, ir.InsertionPoint(body_of(inner)):
        results = _repeat_region(loop, [index, *states], body_of(inner), has_effects=True)
        ir.Operation.create("scf.yield", operands=results)
    replace_op(loop, outer.results)
    return outer


# ---- the same once more ----


def _repeat_region(
    operation: Operation,
    arguments: Sequence[Value],
    target: Block | None = None,
    *,
    region: int = 0,
    has_effects: bool = False,
) -> list[Value]:
    """Copy a region's operations to the end of a block or to the insertion point, and return its results.

    Side effects are left out, unless `has_effects`.
    """
    place = ir.InsertionPoint.current if target is None else ir.InsertionPoint(target)
    # The copy is in the IR, so that every use of its values is in the IR, too, even after an error.
    with place:
        copy = operation.clone().operation
    source = copy.regions[region].blocks[0]
    for argument, value in zip(source.arguments, arguments, strict=True):
        argument.replace_all_uses_with(value)
    *body, end = operations_of(source)
    results = list(end.operands)
    for each in body:
        each.detach_from_parent()
        place.insert(each)
    copy.erase()
    if not has_effects:
        for each in body:
            leave_out_effects(each)
    return results


def leave_out_effects(root: Operation) -> None:
    """Remove side effects from a copy of an operation. Raises RelaxError if that is not possible."""
    for inside in [*operations_in(root), root]:
        row = row_of(inside)
        if row is not None and row.role == "effect" and not len(inside.results):
            inside.erase()
        elif not is_repeatable(inside):
            raise located_error(
                f"'{inside.name}' is in control flow that is differentiated and therefore repeated: it must not have "
                "side effects" + (" (relax-inline)" if inside.name == "func.call" else ""),
                inside.location,
            )
