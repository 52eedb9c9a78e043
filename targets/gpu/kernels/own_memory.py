# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scratch memory of kernels: placement of the allocations of their operations.

Kernels cannot allocate. A small allocation becomes thread-local. The host allocates everything else, once per step of
the loop that becomes the kernel.
"""

from __future__ import annotations

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import ancestors, body_of, operations_named, users_of
from ....bindings.rewriting import located_error, made_again, replace_op
from ....emit import memrefs
from ....emit.linalg import product
from ....emit.numbers import Number, as_i64, number, operation
from ....passes.memory.bufferize.lifetimes import leaves
from ...host.llvm_ops import memref_at, pointer_of, view_of

#: Operations that the host computes again.
_SIZES = frozenset({"memref.dim", "arith.constant"})


def own_memory(
    op: Operation, steps: Number | None, most: int, *, is_of_thread: bool = False, before: Operation | None = None
) -> list[Value]:
    """Move allocations out of an operation that becomes a kernel, and return the memory that the host allocates.

    The host allocates in front of the operation, or of the operation `before`. `steps` is the number of loop steps,
    each of which has memory of its own. A kernel keeps at most `most` bytes: in shared memory, for all allocations
    together, or with `is_of_thread` on a thread's stack, for each allocation.
    """
    allocated, left = [], most
    for alloc in operations_named(op, "memref.alloc", "memref.alloca"):
        memref = alloc.results[0]
        for free in [user for user in users_of(memref) if user.name == "memref.dealloc"]:
            free.erase()
        with alloc.location:
            if leaves(memref):
                raise located_error(
                    f"'{alloc.name}' op in a kernel allocates memory that a loop carries to its next step",
                    alloc.location,
                )
            size = _known_bytes(memref)
            if is_of_thread and 0 <= size <= most:
                _put_on_stack(op, alloc)
            elif not is_of_thread and 0 <= size <= left:
                # Memory of the block, which gpu-share-threads places.
                left -= size
            else:
                allocated.append(_put_outside(op, alloc, steps, before or op))
    return allocated


def _known_bytes(memref: Value) -> int:
    """Return the bytes of a memref, or -1 if dynamic."""
    type_ = memref.type
    return memrefs.byte_count(type_.shape, type_.element_type) if type_.has_static_shape else -1


def _put_on_stack(loop: Operation, alloc: Operation) -> None:
    with ir.InsertionPoint.at_block_begin(body_of(loop)):
        made = made_again(alloc, [], alloc.results.types, "memref.alloca")
    replace_op(alloc, made.results)


def _put_outside(op: Operation, alloc: Operation, steps: Number | None, before: Operation) -> Value:
    memref = alloc.results[0]
    type_ = memref.type
    open_sizes = iter([_move_outside(op, value) for value in alloc.operands])
    shape = [next(open_sizes) if known == DYNAMIC else known for known in type_.shape]
    with ir.InsertionPoint(before):
        if steps is None:
            outside = memrefs.allocate(shape, type_.element_type)
            replace_op(alloc, [memrefs.cast(outside, type_)])
            return outside
        outside = memrefs.allocate([steps.value, *shape], type_.element_type)
    first, _, step = op.operands
    with ir.InsertionPoint(alloc):
        place = operation(
            "arith.divui", [number(body_of(op).arguments[0]) - number(first), number(step)], ir.IndexType.get()
        )
        offset = as_i64(place * product(shape) * memrefs.storage_bytes(type_.element_type)).value
        sizes = [size if isinstance(size, int) else as_i64(size).value for size in shape]
        replace_op(alloc, [memref_at(view_of(pointer_of(outside), offset), type_, sizes)])
    return outside


def _move_outside(op: Operation, value: Value) -> Value:
    """Return a size that is available in front of the operation.

    Raises RelaxError if the operation computes the size itself.
    """
    maker = None if isinstance(value.owner, Block) else value.owner.operation
    if op not in ancestors(value.owner.owner if maker is None else maker):
        return value
    if maker is None or maker.name not in _SIZES and not maker.name.startswith(("arith.", "affine.apply")):
        raise located_error("a kernel cannot allocate memory of a size that it computes itself", op.location)
    operands = [_move_outside(op, operand) for operand in maker.operands]
    with ir.InsertionPoint(op):
        copied = maker.clone().operation
        for place, operand in enumerate(operands):
            copied.operands[place] = operand
        return copied.results[0]
