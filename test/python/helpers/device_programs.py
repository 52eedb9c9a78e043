# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for a device that need no compiler for it: handwritten host code, and models with the CPU's kernels.

The memory of the fake driver's devices is the host's, so that the CPU's kernels work.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import native
import numpy
from relax_mlir.dialects.core.infos import Info, TensorInfo
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.runtime import Artifact
from relax_mlir.runtime.artifact import DeviceCode
from relax_mlir.targets.host.support import DEVICE_TABLE, device_text

import relax_mlir as rx

CODE = DeviceCode("cuda", "sm_80", "ptx", ("double", "refuse"), memoryview(b".version 8.0 // no kernel reads this"))


def on_device(artifact: Artifact, **changes: Any) -> Artifact:
    """Return the program with kernels for a device."""
    return replace(artifact, devices=(replace(CODE, **changes),))


# ---- host code by hand ----

N = sym("n")
VECTOR = TensorInfo((N,), "f32")
_DECLARED = f"""
llvm.func hidden @__relax_device_launch(!llvm.ptr, i64, i64, i64, i64, !llvm.ptr) -> i32
llvm.func hidden @__relax_device_read(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
llvm.func hidden @__relax_device_write(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
llvm.func hidden @__relax_device_copy(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
llvm.func hidden @__relax_device_alloc(!llvm.ptr, i64) -> !llvm.ptr
llvm.func hidden @__relax_device_free(!llvm.ptr, !llvm.ptr)
llvm.func hidden @__relax_device_record(!llvm.ptr) -> !llvm.ptr
func.func @main_impl(%x: memref<?xf32>, %y: memref<?xf32>) {{
  %table = llvm.mlir.addressof @{DEVICE_TABLE} : !llvm.ptr
  %from_index = memref.extract_aligned_pointer_as_index %x : memref<?xf32> -> index
  %to_index = memref.extract_aligned_pointer_as_index %y : memref<?xf32> -> index
  %from_int = arith.index_cast %from_index : index to i64
  %to_int = arith.index_cast %to_index : index to i64
  %from = llvm.inttoptr %from_int : i64 to !llvm.ptr
  %to = llvm.inttoptr %to_int : i64 to !llvm.ptr
  %zero = arith.constant 0 : index
  %size = memref.dim %x, %zero : memref<?xf32>
  %n = arith.index_cast %size : index to i64
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c64 = arith.constant 64 : i64
  %bytes = arith.muli %n, %c4 : i64
"""


def by_hand(body: str, outputs: Sequence[Info] = (VECTOR,), **changes: Any) -> Artifact:
    """Return a program of one function from %x to %y with the addresses %from and %to, %n elements, and %bytes."""
    text = device_text(len(CODE.kernels), has_constants=False) + _DECLARED + body + "\n  return\n}\n"
    return on_device(native.artifact_for(text, [native.signature("main", [("x", VECTOR)], outputs)]), **changes)


def launch(kernel: int, source: str = "%from", blocks: str = "%n") -> str:
    """Return the launch of a kernel on %to, a source and %n, in `blocks` blocks of 64 threads."""
    return f"""
  %c3 = arith.constant 3 : i64
  %kernel = arith.constant {kernel} : i64
  %values = llvm.alloca %c3 x i64 : (i64) -> !llvm.ptr
  %params = llvm.alloca %c3 x !llvm.ptr : (i64) -> !llvm.ptr
  %second = llvm.getelementptr %values[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %third = llvm.getelementptr %values[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %to, %values : !llvm.ptr, !llvm.ptr
  llvm.store {source}, %second : !llvm.ptr, !llvm.ptr
  llvm.store %n, %third : i64, !llvm.ptr
  %param1 = llvm.getelementptr %params[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %param2 = llvm.getelementptr %params[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %values, %params : !llvm.ptr, !llvm.ptr
  llvm.store %second, %param1 : !llvm.ptr, !llvm.ptr
  llvm.store %third, %param2 : !llvm.ptr, !llvm.ptr
  %launched = llvm.call @__relax_device_launch(%table, %kernel, {blocks}, %c64, %c0, %params)
    : (!llvm.ptr, i64, i64, i64, i64, !llvm.ptr) -> i32
  "tir.return_unless_ok"(%launched) : (i32) -> ()
"""


def double(blocks: int, threads: int, params: int) -> None:
    """Double the elements, as a kernel."""
    to, source, count = _values(params)
    wanted = numpy.ctypeslib.as_array((ctypes.c_float * count).from_address(source))
    numpy.ctypeslib.as_array((ctypes.c_float * count).from_address(to))[:] = 2 * wanted


class _Flag(ctypes.Structure):
    """Flag that kernels read, with the address of the record."""

    _fields_ = (("taken", ctypes.c_int32), ("unused", ctypes.c_int32), ("record", ctypes.c_void_p))


class _Record(ctypes.Structure):
    """Record of an assertion, as host code reads it."""

    _fields_ = (
        ("taken", ctypes.c_int32), ("unused", ctypes.c_int32), ("where", ctypes.c_char_p), ("site", ctypes.c_void_p),
        ("numbers", ctypes.c_int64 * 4),
    )  # fmt: skip


_SITE = (ctypes.c_char_p * 2)(b"IndexError", b"%s: index %lld of %lld")


def refuse(blocks: int, threads: int, params: int) -> None:
    """Fail an assertion in a kernel that receives the flag for it in the place of its source."""
    _, flag_at, count = _values(params)
    flag = _Flag.from_address(flag_at)
    if not flag.taken:
        flag.taken = 1
        record = _Record.from_address(flag.record)
        record.where, record.site = b"gather 'g'", ctypes.addressof(_SITE)
        record.numbers[:2] = [7, count]
        record.taken = 1


def _values(params: int) -> tuple[int, int, int]:
    places = (ctypes.c_void_p * 3).from_address(params)
    first, second, third = (ctypes.c_int64.from_address(place or 0).value for place in places)
    return first, second, third


KERNELS = {"double": double, "refuse": refuse}


# ---- models ----


def of_model(module: rx.Module, **options: Any) -> Artifact:
    """Return a model's program, marked as if its kernels ran on a device."""
    stages = rx.stages("llvm").insert_before("entries", "mark", "host-use-device{kind=cuda}")
    return on_device(rx.compile(module, pipeline=stages, jobs=1, **options)._artifact, kernels=())


def with_function(signature: Mapping[str, Any], body: Callable[..., Any]) -> rx.Module:
    """Return a module with `main`. The function `body` computes the results from the arguments."""
    module = rx.Module()
    with module.function("main", signature) as f:
        result = body(*f)
        f.returns(*(result if isinstance(result, tuple) else (result,)))
    return module
