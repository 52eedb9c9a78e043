# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reuse of the arena of temporaries, and of large buffers of kernels, from one call to the next.

Fresh memory costs a page fault for every 4 KB. The program owns a block of each (kept.py), freed when the program is
unloaded.
"""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_named, users_of
from ....bindings.rewriting import replace_op
from ....dialects.core.ir_attributes import ARENA
from ....emit.memrefs import byte_count, is_dense
from ....emit.numbers import as_i64, as_index
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..llvm_ops import memref_at
from ..support import Support

#: Block numbers of kept.py.
_ARENA_BLOCK, _SCRATCH = 0, 1
#: Bytes. The C library always keeps smaller blocks for reuse, and never keeps blocks from 32 MB on.
_LEAST_SCRATCH = 1 << 20


@register_pass
class KeepArena(Pass):
    """Reuse the arena of temporaries, and large buffers of kernels, from one call to the next."""

    name: ClassVar[str] = "host-keep-arena"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Operation) -> None:
        allocs = operations_named(op, "memref.alloc")
        kept = [(alloc, which) for alloc in allocs if (which := _block_for(alloc)) is not None]
        if not kept:
            return
        support = Support(op)
        with op.context:
            for alloc, which in kept:
                _keep(support, alloc, which)


def _block_for(alloc: Operation) -> int | None:
    """Return the block of an allocation, or None for an allocation that is small, escapes or has a dynamic size."""
    if ARENA in alloc.attributes:
        return _ARENA_BLOCK
    if not _frees(alloc):
        return None
    type_ = alloc.results[0].type
    is_plain = type_.has_static_shape and is_dense(type_)
    return _SCRATCH if is_plain and byte_count(type_.shape, type_.element_type) >= _LEAST_SCRATCH else None


def _frees(alloc: Operation) -> list[Operation]:
    return [user for user in users_of(alloc.results[0]) if user.name == "memref.dealloc"]


def _keep(support: Support, alloc: Operation, block: int) -> None:
    memref, frees = alloc.results[0], _frees(alloc)
    with alloc.location, ir.InsertionPoint(alloc):
        which = as_i64(block).value
        if block == _ARENA_BLOCK:
            size = as_i64(alloc.operands[0] if len(alloc.operands) else as_index(memref.type.shape[0])).value
            bytes_, sizes = size, [size]
        else:
            bytes_ = as_i64(byte_count(memref.type.shape, memref.type.element_type)).value
            sizes = list(memref.type.shape)
        pointer = support.value("take_block", which, bytes_)
        kept = memref_at(pointer, memref.type, sizes)
    for free in frees:
        with free.location, ir.InsertionPoint(free):
            support.call("give_block", which, pointer)
        free.erase()
    replace_op(alloc, [kept])
