# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics that are calls of functions, for the cases of tensorize."""

from typing import Any

from relax_mlir.bindings.mlir import ir

import relax_mlir as rx

_HEAD = "from relax_mlir.script import tir as T\n\n"


def _calls(name: str, description: str) -> None:
    def emit(*memrefs: Any) -> None:
        function = {"func": ir.StringAttr.get(name)}
        ir.Operation.create("tir.call_extern", operands=list(memrefs), attributes=function)

    rx.register_tensor_intrin(f"lit.{name}", rx.Module.from_script(_HEAD + description))(emit)


_calls("tile", """
@T.prim_func
def tile(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((2, 8), "float32")):
    for i, j, k in T.grid(2, 8, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")  # fmt: skip

_calls("row", """
@T.prim_func
def row(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
""")  # fmt: skip

_calls("copy", """
@T.prim_func
def copy(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
""")  # fmt: skip

_calls("transposed", """
@T.prim_func
def transposed(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vj, vi]
""")  # fmt: skip

_calls("seven", """
@T.prim_func
def seven(
    A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"),
    D: T.Buffer((8,), "float32"), E: T.Buffer((8,), "float32"), F: T.Buffer((8,), "float32"),
    G: T.Buffer((8,), "float32"), H: T.Buffer((8,), "float32"),
):
    for i in range(8):
        with T.block("H"):
            vi = T.axis.spatial(8, i)
            H[vi] = A[vi] + B[vi] + C[vi] + D[vi] + E[vi] + F[vi] + G[vi]
""")  # fmt: skip
