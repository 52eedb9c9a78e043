# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that keep temporaries before inaccessible pages: an access behind them ends the process."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, ClassVar

from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.runtime.guard_pages import GuardedMemory
from relax_mlir.targets.host.passes.host_define_support import define_support
from relax_mlir.targets.host.support import Support

import relax_mlir as rx

_ALLOCATES, _FREES = ("malloc", "aligned_alloc"), "free"
# Memory of a program lives until the process ends.
_CODE = """
llvm.func internal @__test_aligned_alloc(%alignment: i64, %bytes: i64) -> !llvm.ptr {
  %address = llvm.mlir.constant(ADDRESS : i64) : i64
  %allocate = llvm.inttoptr %address : i64 to !llvm.ptr
  %new = llvm.call %allocate(%bytes) : !llvm.ptr, (i64) -> !llvm.ptr
  llvm.return %new : !llvm.ptr
}
llvm.func internal @__test_malloc(%bytes: i64) -> !llvm.ptr {
  %none = llvm.mlir.constant(0 : i64) : i64
  %new = llvm.call @__test_aligned_alloc(%none, %bytes) : (i64, i64) -> !llvm.ptr
  llvm.return %new : !llvm.ptr
}
llvm.func internal @__test_free(%old: !llvm.ptr) {
  llvm.return
}
"""

_kept: list[GuardedMemory] = []


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
def _allocate(size: int) -> int:
    _kept.append(GuardedMemory(size))
    return _kept[-1].address


@dataclass(frozen=True)
class GuardArena(rx.Pass):
    """Pass that lets a program in the LLVM dialect allocate memory before inaccessible pages."""

    name: ClassVar[str] = "test-guard-arena"

    def run(self, op: Any) -> None:
        define_support(op)
        with op.context:
            for inside in operations_in(op):
                for attribute in ("callee", "global_name"):
                    name = str(inside.attributes[attribute].value) if attribute in inside.attributes else ""
                    if name in (*_ALLOCATES, _FREES):
                        inside.attributes[attribute] = ir.FlatSymbolRefAttr.get(f"__test_{name}")
            address = ctypes.cast(_allocate, ctypes.c_void_p).value
            Support(op).define(_CODE.replace("ADDRESS", str(address)))


def with_guarded_arena(module: rx.Module, target: str = "llvm", **options: Any) -> rx.Executable:
    """Compile a module for one thread of this process."""
    stages = rx.stages(target).insert_after("to-llvm", "guard-arena", GuardArena())
    return rx.compile(module, target, pipeline=stages, cache=False, jobs=1, **options)


def count() -> int:
    """Return the number of pieces of memory so far."""
    return len(_kept)


def last() -> GuardedMemory:
    """Return the newest piece of memory."""
    return _kept[-1]
