# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectorized loops over elements that are not lanes of a vector in memory."""

from __future__ import annotations

import numpy as np

import relax_mlir as rx

_TRUTH = """
from relax_mlir.script import tir as T

@T.prim_func
def truth(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "bool")):
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] > T.float32(0)
"""


def test_truth_values_are_bytes_in_memory() -> None:
    sch = rx.Schedule(rx.Module.from_script(_TRUTH))
    block = sch.get_block("B")
    sch.vectorize(sch.split(sch.get_loops(block)[1], [None, 8])[1])
    copy = sch.cache_write(block, 0, "local")
    sch.vectorize(sch.get_loops(copy)[1])
    array = np.random.default_rng(0).normal(size=(8, 16)).astype("float32")
    np.testing.assert_array_equal(rx.compile(sch.mod)["main"](array), array > 0)
