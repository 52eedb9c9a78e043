# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target for a DSP with a C compiler: a scratchpad, a DMA of rows, a unit that multiplies bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import relax_mlir as rx
from relax_mlir import tir
from relax_mlir.script import tir as T

SCRATCHPAD = "dsp.scratchpad"
BYTES = {"i8": 1, "i32": 4}


def copy_rows(source: Any, target: Any) -> None:
    """Start a copy for each row of a box. All copies form one group."""
    if rx.loops.strides(source)[-1] != 1 or rx.loops.strides(target)[-1] != 1:
        raise rx.Decline("the DMA copies bytes that lie one after the other")
    *rows, length = rx.loops.sizes(source)
    width = BYTES[str(source.type.element_type)]

    def copy_row(*at: Any) -> None:
        to, start = rx.loops.part(target, *at), rx.loops.part(source, *at)
        tir.call_extern("dsp_copy", [to, start, length * width], ())

    rx.loops.nest(rows, copy_row)
    tir.call_extern("dsp_commit", [], ())


def wait_for_copies(pending: int) -> None:
    """Wait for all groups except the last `pending` ones."""
    tir.call_extern("dsp_wait", [pending], ())


rx.schedules.register_memory(
    SCRATCHPAD, bytes=32 << 10, alignment=16, copies_only=True, copy=copy_rows, wait=wait_for_copies
)


@T.prim_func
def product(A: T.Buffer((16,), "int8"), B: T.Buffer((16, 32), "int8"), C: T.Buffer((32,), "int32")):
    for j, k in T.grid(32, 16):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            C[vj] = C[vj] + T.cast(A[vk], "int32") * T.cast(B[vk, vj], "int32")


@T.prim_func
def zeros(C: T.Buffer((32,), "int32")):
    for j in T.grid(32):
        with T.block("C"):
            vj = T.axis.remap("S", [j])
            C[vj] = 0


@rx.schedules.register_tensor_intrin("dsp.product", product, cost=16, memories=dict.fromkeys("ABC", SCRATCHPAD))
def emit_product(a: Any, b: Any, c: Any) -> None:
    tir.call_extern("dsp_product", [a, b, c], ())


@rx.schedules.register_tensor_intrin("dsp.clear", zeros, cost=1, memories={"C": SCRATCHPAD})
def emit_clear(c: Any) -> None:
    tir.call_extern("dsp_clear", [c], ())


rx.register_target(
    rx.Target(
        "dsp",
        parents=("c",),
        libraries=(str(Path(__file__).with_name("dsp.c")),),
        doc="A DSP with a compiler of C.",
    )
)


@rx.schedules.register_schedule(operator="relax.matmul", target="dsp")
def by_the_unit(function: Any, context: Any) -> Any:
    return context.tensorized(function, "dsp.product", "dsp.clear", stages=2)
