# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Deallocation of a PrimFunc's temporaries, at the end of the block that allocates or receives them.

Upstream's deallocation passes ownership flags at run time. A function that fails would not know which memory to free.
"""

from __future__ import annotations

import math

from ....bindings.ir import Block, Operation, Type, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import blocks_of, body_of, last_of, made_by, operations_in, operations_named
from ....bindings.pass_manager import run_upstream
from ....dialects.core.ir_attributes import PASSED_ON
from ....emit import memrefs

_CARRIERS = frozenset(
    "scf.yield scf.condition scf.for scf.while cf.br cf.cond_br func.return affine.for affine.yield "
    "memref.alloca_scope.return".split()
)
#: Operations that pass memory to blocks, with the position of the first such operand.
_FIRST = {"scf.if": 1, "scf.for": 3, "scf.while": 0}


def end_allocations(function: Operation) -> None:
    """Free all memory that a function allocates. Its control flow is in scf."""
    if _escapes(function):
        _keep_in_loops(function)
    if _escapes(function):
        _own_what_is_passed(function)
    for op in reversed(operations_named(function, "memref.alloc")):
        if PASSED_ON in op.attributes:
            del op.attributes[PASSED_ON]
            continue
        with function.context, op.location:
            _give_back(op.results[0], op.block)


def _give_back(memref: Value, block: Block) -> None:
    """Deallocate at the end of a block."""
    with ir.InsertionPoint.at_block_terminator(block):
        memrefs.deallocate(memref)


def leaves(memref: Value) -> bool:
    """Check whether the memory or a view of it is passed to another block, stored elsewhere, or freed as a view."""
    return any(_leaves_by(use.owner.operation, memref) for use in memref.uses)


def _leaves_by(user: Operation, memref: Value) -> bool:
    if user.name in _CARRIERS or (user.name == "memref.store" and user.operands[0] == memref):
        return True
    views = [result for result in user.results if isinstance(result.type, (ir.MemRefType, ir.UnrankedMemRefType))]
    return any(leaves(view) or _is_given_back(view) for view in views)


def _is_given_back(memref: Value) -> bool:
    return any(use.owner.operation.name == "memref.dealloc" for use in memref.uses)


def _escapes(function: Operation) -> bool:
    return any(leaves(op.results[0]) for op in operations_named(function, "memref.alloc"))


# ---- memory passed from block to block ----


def _own_what_is_passed(function: Operation) -> None:
    """Transfer the ownership of memory passed between blocks to the receiver. Only new memory is passed."""
    for op in [op for op in operations_in(function) if op.name in _FIRST]:
        with function.context, op.location:
            _pass_new(op, _FIRST[op.name])
            for block in blocks_of(op):
                end = last_of(block)
                _pass_new(end, 1 if end.name == "scf.condition" else 0)
                for argument in filter(_is_memref, block.arguments):
                    _give_back(argument, block)
            for result in filter(_is_memref, op.results):
                _give_back(result, op.block)


def _pass_new(op: Operation, first: int) -> None:
    for index in range(first, len(op.operands)):
        value = op.operands[index]
        if not _is_memref(value):
            continue
        with ir.InsertionPoint(op):
            new = value if _is_made_for(value, op) else memrefs.copied(value)
            new.owner.attributes[PASSED_ON] = ir.UnitAttr.get()
            op.operands[index] = memrefs.cast(new, value.type)


def _is_made_for(memref: Value, end: Operation) -> bool:
    """Check whether memory is allocated in the block that ends here, and is not passed on yet."""
    made = made_by(memref, "memref.alloc")
    if made is None or PASSED_ON in made.attributes or made.block != end.block:
        return False
    return "scf." in end.name and end == last_of(end.block)


def _is_memref(value: Value) -> bool:
    return isinstance(value.type, ir.MemRefType)


# ---- loops ----


def _keep_in_loops(function: Operation) -> None:
    """Give loop-carried memory of constant size one place. Each iteration copies its result there."""
    loops = [op for op in operations_in(function) if op.name == "scf.for" and any(_moves(op))]
    for loop in loops:
        with function.context, loop.location:
            _keep(loop)
    if loops:
        run_upstream(function, ["canonicalize"], verify=False)


def _moves(loop: Operation) -> list[bool]:
    """Check, per carried value, for memory of constant size that each iteration replaces."""
    carried = zip(list(body_of(loop).arguments)[1:], loop.operands[3:], last_of(body_of(loop)).operands, strict=True)
    return [
        _is_row_by_row(argument.type) and argument != value and _has_sizes_of(initial, value)
        for argument, initial, value in carried
    ]


def _is_row_by_row(type_: Type) -> bool:
    if not isinstance(type_, ir.MemRefType):
        return False
    strides, offset = type_.get_strides_and_offset()
    dense = [math.prod(type_.shape[axis + 1 :]) for axis in range(type_.rank)]
    return bool(offset == 0 and list(strides) == dense and DYNAMIC not in type_.shape[1:])


def _has_sizes_of(one: Value, other: Value) -> bool:
    """Check whether the sizes that types leave open are the same values."""
    return bool(one.type.has_static_shape) or (_sizes(one) is not None and _sizes(one) == _sizes(other))


def _sizes(memref: Value) -> list[Value] | None:
    """Return the values of the sizes that its type leaves open, or None if the memory comes from elsewhere."""
    if (made := made_by(memref, "memref.cast")) is not None and made.operands[0].type.shape == memref.type.shape:
        return _sizes(made.operands[0])
    if (made := made_by(memref, "memref.alloc")) is not None:
        return list(made.operands)
    made = made_by(memref, "memref.subview")
    if made is None or made.operands[0].type.rank != memref.type.rank:
        return None
    first, count = sum(list(made.attributes["operandSegmentSizes"])[:2]), list(memref.type.shape).count(DYNAMIC)
    return list(made.operands)[first : first + count]


def _keep(loop: Operation) -> None:
    block = body_of(loop)
    end = last_of(block)
    moving = [index for index, moves in enumerate(_moves(loop)) if moves]
    places, carried = {}, {}
    for index in moving:
        initial = loop.operands[3 + index]
        with ir.InsertionPoint(loop):
            places[index] = memrefs.copied(initial)
            carried[index] = memrefs.cast(places[index], initial.type)
        loop.operands[3 + index] = carried[index]
    with ir.InsertionPoint(end):
        values = {index: _copy_for_round(end.operands[index], block) for index in moving}
        for index in moving:
            memrefs.copy(values[index], places[index])
    for index in moving:
        end.operands[index] = carried[index]
        block.arguments[1 + index].replace_all_uses_with(carried[index])
        loop.results[index].replace_all_uses_with(carried[index])


def _copy_for_round(memref: Value, block: Block) -> Value:
    """Return memory that copies into other places cannot change: allocated in this block, or else a copy."""
    whole = memref
    while (view := made_by(whole, "memref.cast", "memref.subview")) is not None:
        whole = view.operands[0]
    made = made_by(whole, "memref.alloc")
    return memref if made is not None and made.block == block else memrefs.copied(memref)
