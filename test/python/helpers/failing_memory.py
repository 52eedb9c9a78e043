# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose n-th allocation fails: compiled code asks a counter of the test before it allocates."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.runtime import Executable
from relax_mlir.targets.host.passes.host_define_support import define_support
from relax_mlir.targets.host.support import Support

import relax_mlir as rx

_TAKES, _GIVES = ("malloc", "aligned_alloc"), "free"
# Counters of a program: allocations until one fails, pieces of memory in use, and arenas. The arena of temporaries, the
# only aligned allocation, stays from one call to the next.
_CODE = """
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func internal @__test_counter(%place: i64, %more: i64) -> i64 {
  %start = llvm.mlir.constant(ADDRESS : i64) : i64
  %address = llvm.add %start, %place : i64
  %counter = llvm.inttoptr %address : i64 to !llvm.ptr
  %old = llvm.atomicrmw add %counter, %more monotonic : !llvm.ptr, i64  // threads share loops
  %new = llvm.add %old, %more : i64
  llvm.return %new : i64
}
llvm.func internal @__test_malloc(%bytes: i64) -> !llvm.ptr {
  %alignment = llvm.mlir.constant(0 : i64) : i64
  %new = llvm.call @__test_aligned_alloc(%alignment, %bytes) : (i64, i64) -> !llvm.ptr
  llvm.return %new : !llvm.ptr
}
llvm.func internal @__test_aligned_alloc(%alignment: i64, %bytes: i64) -> !llvm.ptr {
  %none = llvm.mlir.zero : !llvm.ptr
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %more = llvm.mlir.constant(1 : i64) : i64
  %less = llvm.mlir.constant(-1 : i64) : i64
  %left = llvm.call @__test_counter(%c0, %less) : (i64, i64) -> i64
  %fails = llvm.icmp "eq" %left, %c0 : i64
  llvm.cond_br %fails, ^fail, ^try
^fail:
  llvm.return %none : !llvm.ptr
^try:
  %plain = llvm.icmp "eq" %alignment, %c0 : i64
  llvm.cond_br %plain, ^any, ^aligned
^any:
  %some = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
  llvm.br ^count(%some : !llvm.ptr)
^aligned:
  %fine = llvm.call @aligned_alloc(%alignment, %bytes) : (i64, i64) -> !llvm.ptr
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %arenas = llvm.call @__test_counter(%c16, %more) : (i64, i64) -> i64
  llvm.br ^count(%fine : !llvm.ptr)
^count(%new: !llvm.ptr):
  %is_none = llvm.icmp "eq" %new, %none : !llvm.ptr
  %change = llvm.select %is_none, %c0, %more : i1, i64
  %held = llvm.call @__test_counter(%c8, %change) : (i64, i64) -> i64
  llvm.return %new : !llvm.ptr
}
llvm.func internal @__test_free(%old: !llvm.ptr) {
  %none = llvm.mlir.zero : !llvm.ptr
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %less = llvm.mlir.constant(-1 : i64) : i64
  %is_none = llvm.icmp "eq" %old, %none : !llvm.ptr
  %change = llvm.select %is_none, %c0, %less : i1, i64
  %held = llvm.call @__test_counter(%c8, %change) : (i64, i64) -> i64
  llvm.call @free(%old) : (!llvm.ptr) -> ()
  llvm.return
}
"""


@dataclass(frozen=True)
class CountMemory(rx.Pass):
    """Pass that counts the allocations and releases of a program in the LLVM dialect, at an address of this process."""

    name: ClassVar[str] = "test-count-memory"
    address: int = 0

    def run(self, op: Any) -> None:
        define_support(op)
        with op.context:
            for inside in operations_in(op):
                for attribute in ("callee", "global_name"):
                    name = str(inside.attributes[attribute].value) if attribute in inside.attributes else ""
                    if name in (*_TAKES, _GIVES):
                        inside.attributes[attribute] = ir.FlatSymbolRefAttr.get(f"__test_{name}")
            Support(op).define(_CODE.replace("ADDRESS", str(self.address)))


class FailingMemory:
    """Compiled module with counters of its allocations."""

    def __init__(self, module: rx.Module) -> None:
        self._counters = (ctypes.c_int64 * 3)()
        counting = CountMemory(address=ctypes.addressof(self._counters))
        stages = rx.stages("llvm").insert_after("to-llvm", "count-memory", counting)
        self.allocations = 0
        self.executable: Executable = rx.compile(module, pipeline=stages, opt_level=0, cache=False, jobs=1)

    def kept(self) -> int:
        """Return the number of pieces of memory that the code keeps without a use."""
        return self._counters[1] - min(self._counters[2], 1)

    def call(self, arrays: list[Any], fails: int = 0) -> Any:
        """Return the results as arrays, or the exception, if the allocation of that number fails (counted from 1)."""
        self._counters[0] = fails
        try:
            results = self.executable["main"](*arrays)
        except Exception as error:  # whatever it is, it is compared
            return error
        finally:
            self.allocations = fails - self._counters[0]
        several = results if isinstance(results, (list, tuple)) or type(results).__name__ == "Array" else [results]
        return [numpy.from_dlpack(each).copy() for each in several]


def problems(module: rx.Module, arrays: list[Any]) -> tuple[int, list[str]]:
    """Let each allocation of a call fail, one after the other. Return the number of allocations, and the problems."""
    program, found, wrong = FailingMemory(module), [], []
    while program.allocations >= len(found):
        found.append(program.call(arrays, len(found) + 1))
        if program.kept() != 0:
            wrong.append(f"allocation {len(found)} failed: {program.kept()} pieces of memory are not given back")
            break
    *failed, expected = found
    for number, each in enumerate(failed, 1):
        if not isinstance(each, MemoryError) and not _are_equal(each, expected):
            wrong.append(f"allocation {number} failed: the call gave {each!r}, neither MemoryError nor {expected!r}")
    return len(failed), wrong


def _are_equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, Exception) or isinstance(found, Exception):
        return type(found) is type(expected) and str(found) == str(expected)
    pairs = zip(found, expected, strict=True)
    return all(one.dtype == other.dtype and numpy.array_equal(one, other, equal_nan=True) for one, other in pairs)
