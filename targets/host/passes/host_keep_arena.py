# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the arena of temporaries from one call to the next: fresh memory costs a page fault for every 4 KB.

The code holds one block. A call takes it, or gets a new one where it is taken or too small; who comes back last leaves
his. It goes when the code is unloaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....bindings.legality import operations_in
from ....bindings.mlir import ir
from ....emit import linalg
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.lower_calls.function import ARENA
from ..llvm_ops import call, memref_at
from ..llvm_text import PTR, merge
from ..packed_call import add_at_unload

_TAKE, _GIVE, _SLOT, _RELEASE = "__relax_take_arena", "__relax_give_arena", "__relax_arena", "__relax_release_arena"

_FUNCTIONS = f"""
llvm.func @free(!llvm.ptr)
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.mlir.global internal @{_SLOT}() {{addr_space = 0 : i32}} : !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}
llvm.func internal @{_TAKE}(%bytes: i64) -> !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  %c64 = llvm.mlir.constant(64 : i64) : i64
  %c127 = llvm.mlir.constant(127 : i64) : i64
  %mask = llvm.mlir.constant(-64 : i64) : i64
  %slot = llvm.mlir.addressof @{_SLOT} : !llvm.ptr
  %held = llvm.atomicrmw xchg %slot, %null acq_rel : !llvm.ptr, !llvm.ptr
  %none = llvm.icmp "eq" %held, %null : !llvm.ptr
  llvm.cond_br %none, ^allocate, ^look
^look:
  %size = llvm.load %held : !llvm.ptr -> i64
  %enough = llvm.icmp "uge" %size, %bytes : i64
  llvm.cond_br %enough, ^give(%held : !llvm.ptr), ^discard
^discard:
  llvm.call @free(%held) : (!llvm.ptr) -> ()
  llvm.br ^allocate
^allocate:
  %more = llvm.add %bytes, %c127 : i64
  %whole = llvm.and %more, %mask : i64
  %new = llvm.call @aligned_alloc(%c64, %whole) : (i64, i64) -> !llvm.ptr
  %failed = llvm.icmp "eq" %new, %null : !llvm.ptr
  llvm.cond_br %failed, ^fail, ^fill
^fail:
  llvm.return %null : !llvm.ptr
^fill:
  %room = llvm.sub %whole, %c64 : i64
  llvm.store %room, %new : i64, !llvm.ptr
  llvm.br ^give(%new : !llvm.ptr)
^give(%block: !llvm.ptr):
  %data = llvm.getelementptr %block[64] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.return %data : !llvm.ptr
}}
llvm.func internal @{_GIVE}(%data: !llvm.ptr) {{
  %null = llvm.mlir.zero : !llvm.ptr
  %none = llvm.icmp "eq" %data, %null : !llvm.ptr
  llvm.cond_br %none, ^end, ^leave
^leave:
  %block = llvm.getelementptr %data[-64] : (!llvm.ptr) -> !llvm.ptr, i8
  %slot = llvm.mlir.addressof @{_SLOT} : !llvm.ptr
  %other = llvm.atomicrmw xchg %slot, %block acq_rel : !llvm.ptr, !llvm.ptr
  llvm.call @free(%other) : (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.return
}}
llvm.func internal @{_RELEASE}() {{
  %null = llvm.mlir.zero : !llvm.ptr
  %slot = llvm.mlir.addressof @{_SLOT} : !llvm.ptr
  %held = llvm.atomicrmw xchg %slot, %null acq_rel : !llvm.ptr, !llvm.ptr
  llvm.call @free(%held) : (!llvm.ptr) -> ()
  llvm.return
}}
"""


@register_pass
@dataclass(frozen=True)
class KeepArena(Pass):
    """Keeps the memory of temporaries from one call to the next."""

    name: ClassVar[str] = "host-keep-arena"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Any) -> None:
        arenas = [inside for inside in operations_in(op) if ARENA in inside.attributes]
        if not arenas:
            return
        with op.context, op.location:
            merge(op, _FUNCTIONS)
            add_at_unload(op, _RELEASE)
            for arena in arenas:
                _keep(arena)


def _keep(alloc: Any) -> None:
    memref = alloc.results[0]
    frees = [use.owner.operation for use in memref.uses if use.owner.operation.name == "memref.dealloc"]
    with alloc.location, ir.InsertionPoint(alloc):
        size = alloc.operands[0] if len(alloc.operands) else linalg.constant_index(memref.type.shape[0])
        bytes_ = linalg.as_i64(size)
        pointer = call(_TAKE, [bytes_], ir.Type.parse(PTR))
        kept = memref_at(pointer, memref.type, [bytes_])
    for free in frees:
        with free.location, ir.InsertionPoint(free):
            call(_GIVE, [pointer])
        free.erase()
    memref.replace_all_uses_with(kept)
    alloc.erase()
