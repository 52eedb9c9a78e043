# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that functions take while they run: little of it is on the stack, the rest is checked before it is used.

Whoever wrote the function, the graph's lowering, a rule or a user: where there is no memory, it fails with a
MemoryError (host-lower-errors makes that a status), and it never takes more of the stack than a few pages.
"""

from __future__ import annotations

import math
from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import blocks_of, body_of, functions_in, last_of, operations_named, users_of
from ....bindings.rewriting import located_error, made_again, replace_op
from ....dialects.core.ir_attributes import ARENA, COUNTED, DEVICE
from ....dialects.tir import dialect as tir
from ....emit import memrefs
from ....emit.numbers import Number, as_i64, constant, operation
from ....passes.bufferize.lifetimes import leaves
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....support.errors import RelaxError

#: What a function takes of the stack at most, where it asks for it, and of small memory that it asks for elsewhere.
MOST_STACK_BYTES, MOST_SMALL_BYTES = 16384, 1024
_SCOPE = "memref.alloca_scope"


@register_pass
class CheckMemory(Pass):
    """Puts a function's small memory on the stack, large memory elsewhere, with an error where there is none."""

    name: ClassVar[str] = "host-check-memory"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "scf")

    def run(self, op: Operation) -> None:
        with op.context:
            for function in functions_in(op):
                _check(function, on_device=DEVICE in op.attributes)


def _check(function: Operation, *, on_device: bool) -> None:
    taken = operations_named(function, "memref.alloc", "memref.alloca")
    room = {"memref.alloca": MOST_STACK_BYTES, "memref.alloc": MOST_SMALL_BYTES}
    for op in taken:
        with op.location:
            size = _static_bytes(op)
            if not on_device and size is not None and size <= room[op.name] and _can_stay(op):
                room[op.name] -= size
                _put_on_stack(op, function)
            else:
                _require_memory(op if op.name == "memref.alloc" else _put_elsewhere(op))
    for scope in operations_named(function, _SCOPE):
        _open(scope)


def _can_stay(op: Operation) -> bool:
    """Whether memory is used where it was made only, so that each round of a loop may have the same."""
    return ARENA not in op.attributes and not leaves(op.results[0])


def _static_bytes(op: Operation) -> int | None:
    """What memory takes whose sizes are known; None for other memory. Raises RelaxError where nothing can hold it."""
    type_ = op.results[0].type
    try:
        least = memrefs.byte_count(_known_sizes(type_), type_.element_type)
    except RelaxError as error:
        raise located_error(f"'{op.name}' op: {error.message}", op.location) from None
    return least if type_.has_static_shape else None


def _known_sizes(type_: Type) -> list[int]:
    return [size for size in type_.shape if size != DYNAMIC]


# ---- on the stack ----


def _put_on_stack(op: Operation, function: Operation) -> None:
    """Once for a call of the function: in a loop, each round would take more."""
    with ir.InsertionPoint.at_block_begin(body_of(function)):
        made = made_again(op, [], op.results.types, "memref.alloca")
    for user in [each for each in users_of(op.results[0]) if each.name == "memref.dealloc"]:
        user.erase()
    replace_op(op, made.results)


def _open(scope: Operation) -> None:
    """A scope holds nothing of the stack any more; an error must be able to leave it."""
    with scope.location, ir.InsertionPoint(scope):
        made = ir.Operation.create("scf.execute_region", results=scope.results.types, regions=1)
    for block in list(scope.regions[0].blocks):
        block.append_to(made.regions[0])
    for end in [each for each in map(last_of, blocks_of(made)) if each.name == f"{_SCOPE}.return"]:
        with end.location, ir.InsertionPoint(end):
            ir.Operation.create("scf.yield", operands=list(end.operands))
        end.erase()
    replace_op(scope, made.results)


# ---- elsewhere ----


def _put_elsewhere(op: Operation) -> Operation:
    """An allocation in place of what the stack has no room for, given back where its block ends."""
    memref, block = op.results[0], op.block
    if leaves(memref) or len(block.region.blocks) > 1:
        text = f"'{op.name}' op ({memref.type}) is too large for the stack, and used outside of its block"
        raise located_error(f"{text}: take it by memref.alloc and give it back by memref.dealloc", op.location)
    with ir.InsertionPoint(op):
        made = made_again(op, op.operands, [memref.type], "memref.alloc")
    with ir.InsertionPoint.at_block_terminator(block):
        memrefs.deallocate(made.result)
    replace_op(op, made.results)
    return made


def _require_memory(op: Operation) -> None:
    """Code behind an allocation that raises where there is no room, or sizes make more bytes than can be counted."""
    memref = op.results[0]
    type_ = memref.type
    known, dynamic = _known_sizes(type_), list(op.operands)[: type_.shape.count(DYNAMIC)]
    count = memrefs.byte_count(known, type_.element_type)
    with ir.InsertionPoint.after(op):
        there = operation("memref.extract_aligned_pointer_as_index", [memref], ir.IndexType.get()) != 0
        shown = constant(count, "i64")
        if COUNTED in op.attributes:
            for size in dynamic:
                shown = shown * as_i64(size)
        elif dynamic:
            there, shown = _with_sizes(there, float(count), dynamic)
        what = "temporaries" if ARENA in op.attributes else "a temporary"
        message = f"out of memory: no room for {what} of {{}} bytes"
        tir.ops["assert"](there, [shown], kind="MemoryError", message=message)


def _with_sizes(there: Number, count: float, dynamic: list[Value]) -> tuple[Number, Number]:
    """Whether the memory is there and its bytes, which do not wrap around as f64, are no more than any memory has;
    and these bytes. Where a size is 0 or less there is nothing to hold."""
    total = math.prod(map(memrefs.as_float, dynamic), start=constant(count, "f64"))
    nothing = total <= 0.0
    below, shown = memrefs.below(total, memrefs.MOST_BYTES)
    return (there | nothing) & below, shown
