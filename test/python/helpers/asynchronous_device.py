# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device whose copies and products are done when they start, or only when they are waited for.

A missing wait, or a wait that leaves too many commands pending, therefore changes a program's results. The device is C
code in this process.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from c_programs import COMPILER
from own_rules import without_new
from relax_mlir.emit import linalg
from relax_mlir.emit.extern_calls import address_of
from relax_mlir.emit.numbers import as_i64, constant
from relax_mlir.emit.subviews import strided_metadata
from relax_mlir.passes.kernels.loops.intrins import _INTRINS
from relax_mlir.passes.kernels.loops.memories import _MEMORIES

import relax_mlir as rx
from relax_mlir import tir
from relax_mlir.script import tir as T

SRAM, SUMS = "device.sram", "device.sums"
#: The product's rows, columns and steps.
TILE = 4

_RANK = 6
_SOURCE = """
#include <stdint.h>
#include <string.h>
typedef struct { int64_t kind; char *at[3]; int64_t bytes, sizes[6], strides[3][6]; } Task;
typedef struct { Task tasks[1 << 16]; int first, last; } Queue;
static Queue queues[2];
static int lazy[2];
static int64_t started[2], pending[2][8];

static void copied(const Task *task, char *source, char *target, int dim) {
  if (dim == 6) { memcpy(target, source, task->bytes); return; }
  for (int64_t i = 0; i < task->sizes[dim]; ++i)
    copied(task, source + i * task->strides[0][dim] * task->bytes, target + i * task->strides[1][dim] * task->bytes,
           dim + 1);
}

static void product(const Task *task) {
  const float *a = (float *)task->at[0], *b = (float *)task->at[1];
  float *c = (float *)task->at[2];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 4; ++k)
        c[i * task->strides[2][0] + j * task->strides[2][1]] +=
            a[i * task->strides[0][0] + k * task->strides[0][1]] * b[k * task->strides[1][0] + j * task->strides[1][1]];
}

static void cleared(const Task *task) {
  float *c = (float *)task->at[2];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[i * task->strides[2][0] + j * task->strides[2][1]] = 0;
}

static void done(const Task *task) {
  if (task->kind == 0) copied(task, task->at[0], task->at[1], 0);
  if (task->kind == 1) product(task);
  if (task->kind == 2) cleared(task);
}

static void start(int queue, Task task) {
  Queue *q = &queues[queue];
  ++started[queue];
  if (!lazy[queue]) { done(&task); return; }
  q->tasks[q->last++ & 0xffff] = task;
  if (q->last - q->first > 0xffff) done(&q->tasks[q->first++ & 0xffff]);
}

void device_wait(int64_t queue, int64_t most) {
  Queue *q = &queues[queue];
  ++pending[queue][most < 7 ? most : 7];
  while (q->last - q->first > most) done(&q->tasks[q->first++ & 0xffff]);
}

void device_copy(int64_t source, int64_t target, int64_t bytes, COPY) {
  Task task = {0, {(char *)source, (char *)target, 0}, bytes, {SIZES}, {{SOURCES}, {TARGETS}, {0}}};
  start(0, task);
}

void device_product(int64_t a, int64_t a0, int64_t a1, int64_t b, int64_t b0, int64_t b1, int64_t c, int64_t c0,
                    int64_t c1) {
  Task task = {1, {(char *)a, (char *)b, (char *)c}, 4, {0}, {{a0, a1}, {b0, b1}, {c0, c1}}};
  start(1, task);
}

void device_clear(int64_t c, int64_t c0, int64_t c1) {
  Task task = {2, {0, 0, (char *)c}, 4, {0}, {{0}, {0}, {c0, c1}}};
  start(1, task);
}

void device_reset(int first, int second) {
  memset(queues, 0, sizeof queues);
  memset(started, 0, sizeof started);
  memset(pending, 0, sizeof pending);
  lazy[0] = first;
  lazy[1] = second;
}

int64_t device_left(int queue) { return queues[queue].last - queues[queue].first; }
int64_t device_started(int queue) { return started[queue]; }
int64_t device_waits(int queue, int most) { return pending[queue][most]; }
"""


@functools.cache
def device() -> ctypes.CDLL:
    """Return the functions, which programs find in this process."""
    assert COMPILER is not None
    names = [[f"{word}{dim}" for dim in range(_RANK)] for word in "nst"]
    source = _SOURCE.replace("COPY", ", ".join(f"int64_t {name}" for each in names for name in each))
    for word, each in zip(("SIZES", "SOURCES", "TARGETS"), names, strict=True):
        source = source.replace(word, ", ".join(each))
    folder = tempfile.mkdtemp(prefix="device")
    path = os.path.join(folder, "libdevice_sim.so")
    with open(f"{path}.c", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run([COMPILER, "-O1", "-fPIC", "-shared", "-o", path, f"{path}.c"], check=True, timeout=600)
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    for name in ("device_left", "device_started", "device_waits"):
        getattr(library, name).restype = ctypes.c_int64
    return library


def _call(name: str, *values: Any) -> None:
    tir.call_extern(name, [as_i64(each) if not isinstance(each, int) else constant(each, "i64") for each in values], ())


def _strides(memref: Any) -> list[Any]:
    rank = memref.type.rank
    return list(strided_metadata(memref).results)[2 + rank : 2 + 2 * rank]


def _copy(source: Any, target: Any) -> None:
    rank, width = target.type.rank, max(target.type.element_type.width // 8, 1)
    missing = _RANK - rank
    sizes = [1] * missing + linalg.sizes(target)
    strides = [[0] * missing + _strides(each) for each in (source, target)]
    _call("device_copy", address_of(source), address_of(target), width, *sizes, *strides[0], *strides[1])


def wait_for_copies(pending: int) -> None:
    _call("device_wait", 0, pending)


def wait_for_products(pending: int) -> None:
    _call("device_wait", 1, pending)


@T.prim_func
def product(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def clear(C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)


@contextmanager
def registered(
    *, copies_only: bool = True, bytes: int = 1 << 20, banks: int = 1, waits: Sequence[bool] = (True, True)
) -> Iterator[None]:
    """Register the device's memories and intrinsics. `waits` selects asynchronous copies and products."""
    device()
    copies = wait_for_copies if waits[0] else None
    products = wait_for_products if waits[1] else None
    with without_new(_MEMORIES), without_new(_INTRINS):
        options: dict[str, Any] = {"copy": _copy, "wait": copies, "copies_only": copies_only}
        rx.schedules.register_memory(SRAM, bytes=bytes, banks=banks, **options)
        rx.schedules.register_memory(SUMS, bytes=bytes, **options)

        @rx.schedules.register_tensor_intrin(
            "device.product", product, cost=4, wait=products, memories={"A": SRAM, "B": SRAM, "C": SUMS}
        )
        def emit_product(a: Any, b: Any, c: Any) -> None:
            _call("device_product", *(each for memref in (a, b, c) for each in (address_of(memref), *_strides(memref))))

        @rx.schedules.register_tensor_intrin("device.clear", clear, cost=1, wait=products, memories={"C": SUMS})
        def emit_clear(c: Any) -> None:
            _call("device_clear", address_of(c), *_strides(c))

        yield


#: For each of the two queues: 1 delays its commands as long as possible, 0 executes them at once.
MODES = ((0, 0), (1, 1), (0, 1), (1, 0))


def agrees_in_all_modes(run: Callable[[], object]) -> None:
    """Check that a program computes the same for every delay of the device, and leaves no command pending."""
    for mode in MODES:
        device().device_reset(*mode)
        run()
        assert [device().device_left(queue) for queue in (0, 1)] == [0, 0], f"not waited for, {mode}"
