# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the arena of temporaries from one call to the next: fresh memory costs a page fault for every 4 KB.

The program holds one block (support.mlir). It goes when the program is unloaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in, users_of
from ....bindings.rewriting import replace_op
from ....emit.numbers import as_i64, as_index
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.lower_calls.function import ARENA
from ..llvm_ops import memref_at
from ..support import Support


@register_pass
@dataclass(frozen=True)
class KeepArena(Pass):
    """Keeps the memory of temporaries from one call to the next."""

    name: ClassVar[str] = "host-keep-arena"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Operation) -> None:
        arenas = [inside for inside in operations_in(op) if ARENA in inside.attributes]
        if not arenas:
            return
        support = Support(op)
        with op.context:
            for arena in arenas:
                _keep(support, arena)


def _keep(support: Support, alloc: Operation) -> None:
    memref = alloc.results[0]
    frees = [user for user in users_of(memref) if user.name == "memref.dealloc"]
    with alloc.location, ir.InsertionPoint(alloc):
        size = alloc.operands[0] if len(alloc.operands) else as_index(memref.type.shape[0])
        bytes_ = as_i64(size).value
        pointer = support.value("take_arena", bytes_)
        kept = memref_at(pointer, memref.type, [bytes_])
    for free in frees:
        with free.location, ir.InsertionPoint(free):
            support.call("give_arena", pointer)
        free.erase()
    replace_op(alloc, [kept])
