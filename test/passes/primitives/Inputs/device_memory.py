# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory with asynchronous copies as calls, for the cases of cache_read and pipeline."""

from typing import Any

from relax_mlir.emit.numbers import constant

import relax_mlir as rx
from relax_mlir import tir


def _copy(source: Any, target: Any) -> None:
    tir.call_extern("dma", [source, target], ())


def _wait(pending: int) -> None:
    tir.call_extern("dma_wait", [constant(pending, "i32")], ())


rx.schedules.register_memory("lit.sram", bytes=1 << 16, copy=_copy, wait=_wait)


def _wait_for_products(pending: int) -> None:
    tir.call_extern("array_wait", [constant(pending, "i32")], ())


@rx.schedules.register_tensor_intrin(
    "lit.array",
    rx.Module.from_script("""
from relax_mlir.script import tir as T

@T.prim_func
def tile(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((2, 8), "float32")):
    for i, j, k in T.grid(2, 8, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""),
    memories={"A": "lit.sram", "B": "lit.sram"},
    wait=_wait_for_products,
)
def _start_product(a: Any, b: Any, c: Any) -> None:
    tir.call_extern("array_product", [a, b, c], ())
