# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of functions: small buffers go on the stack, and other allocations are checked before use.

The checks apply to functions of any origin: the graph's lowering, a rule or a user. A function without memory fails
with a MemoryError, which host-lower-errors turns into a status. A function never uses more than a few pages of the
stack.
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
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.memory.bufferize.lifetimes import leaves
from ....support.errors import RelaxError

#: Stack limit of a function for its stack allocations, and for its small heap allocations that move to the stack.
MOST_STACK_BYTES, MOST_SMALL_BYTES = 16384, 1024
_SCOPE = "memref.alloca_scope"


@register_pass
class CheckMemory(Pass):
    """Put a function's small buffers on the stack and check all other allocations for failure."""

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
    """Return True if the memory is used only in its own block, so that each iteration of a loop may reuse it."""
    return ARENA not in op.attributes and not leaves(op.results[0])


def _static_bytes(op: Operation) -> int | None:
    """Return the bytes of memory with static sizes, or None. Raise RelaxError if the size exceeds any memory."""
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
    """Allocate at the function's start, once per call: inside a loop, each iteration would take more stack."""
    with ir.InsertionPoint.at_block_begin(body_of(function)):
        made = made_again(op, [], op.results.types, "memref.alloca")
    for user in [each for each in users_of(op.results[0]) if each.name == "memref.dealloc"]:
        user.erase()
    replace_op(op, made.results)


def _open(scope: Operation) -> None:
    """Replace a scope, which no longer owns stack memory, by a region that an error can leave."""
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
    """Replace a stack allocation that is too large by a heap allocation, freed at the end of its block."""
    memref, block = op.results[0], op.block
    if leaves(memref) or len(block.region.blocks) > 1:
        text = f"'{op.name}' op ({memref.type}) is too large for the stack, and used outside of its block"
        raise located_error(f"{text}: take it by memref.alloc and give it back by memref.dealloc", op.location)
    with ir.InsertionPoint(op):
        elsewhere = made_again(op, op.operands, [memref.type], "memref.alloc")
    with ir.InsertionPoint.at_block_terminator(block):
        memrefs.deallocate(elsewhere.result)
    replace_op(op, elsewhere.results)
    return elsewhere


def _require_memory(op: Operation) -> None:
    """Add a check behind an allocation. It fails if the allocation failed or if the byte count overflows."""
    memref = op.results[0]
    type_ = memref.type
    known, dynamic = _known_sizes(type_), list(op.operands)[: type_.shape.count(DYNAMIC)]
    count = memrefs.byte_count(known, type_.element_type)
    with ir.InsertionPoint.after(op):
        there = operation("memref.extract_aligned_pointer_as_index", [memref], ir.IndexType.get()) != 0
        shown = constant(count, "i64")
        if COUNTED in op.attributes:
            del op.attributes[COUNTED]
            for size in dynamic:
                shown = shown * as_i64(size)
        elif dynamic:
            there, shown = _with_sizes(there, float(count), dynamic)
        what = "temporaries" if ARENA in op.attributes else "a temporary"
        message = f"out of memory: no room for {what} of {{}} bytes"
        tir.ops["assert"](there, [shown], kind="MemoryError", message=message)


def _with_sizes(there: Number, count: float, dynamic: list[Value]) -> tuple[Number, Number]:
    """Return (allocation succeeded and the size is valid, bytes) for dynamic sizes.

    The byte count is an f64, which does not wrap around, and is compared with the largest possible memory. A size of 0
    or less needs no memory.
    """
    total = math.prod(map(memrefs.as_float, dynamic), start=constant(count, "f64"))
    nothing = total <= 0.0
    below, shown = memrefs.below(total, memrefs.MOST_BYTES)
    return (there | nothing) & below, shown
