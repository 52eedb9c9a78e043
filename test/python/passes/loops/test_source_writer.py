# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that are written as C: they end where their points do.

The remainder of tiles is done row by row where rows are independent.
"""

from __future__ import annotations

import numpy as np
import pytest
from c_programs import CProgram, needs_compiler

import relax_mlir as rx

pytestmark = needs_compiler
KERNEL = """
from relax_mlir.script import tir as T

@T.prim_func
def kernel(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 20), "float32")
    B = T.alloc_buffer((n, 20), "float32")
    C = T.match_buffer(c, (n, 20), "float32")
    for i, j in T.grid(n, 20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 20):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = {0}
"""
#: Values of B, and whether its rows are independent.
RESULTS = {
    "B[vi, vj] + A[vi, 0]": True,
    "B[vi, vj] + B[vi, 19 - vj]": True,
    "B[vi // 2, vj] + B[vi, vj]": False,
    "B[n - 1 - vi, vj]": False,
}


def expected(result: str, a: np.ndarray) -> np.ndarray:
    b, n = a * 2, len(a)
    rows = np.arange(n)
    return {
        "B[vi, vj] + A[vi, 0]": lambda: b + a[:, :1],
        "B[vi, vj] + B[vi, 19 - vj]": lambda: b + b[:, ::-1],
        "B[vi // 2, vj] + B[vi, vj]": lambda: b[rows // 2] + b,
        "B[n - 1 - vi, vj]": lambda: b[::-1],
    }[result]()


def check(sch: rx.Schedule, result: str) -> str:
    program = CProgram(sch.mod, "c{memory=heap}")
    for n in (0, 1, 5, 8, 13, 24):
        a = np.random.default_rng(n).standard_normal((n, 20)).astype("float32")
        np.testing.assert_allclose(program(a)[0], expected(result, a), rtol=1e-6)
    return str(program.files["model.c"])


@pytest.mark.parametrize(("result", "is_apart"), RESULTS.items())
def test_rows_that_are_left(result: str, is_apart: bool) -> None:
    sch = rx.Schedule(rx.Module.from_script(KERNEL.format(result)))
    tiles, _ = sch.split(sch.get_loops("C")[0], [None, 8])
    sch.compute_at("B", tiles)
    text = check(sch, result)
    assert ("% 8" in text) == is_apart


def test_loops_end_where_their_points_do() -> None:
    """Split 20 columns into tiles of 16: one whole tile, and 4 columns."""
    result = "B[vi, vj] + A[vi, 0]"
    sch = rx.Schedule(rx.Module.from_script(KERNEL.format(result)))
    sch.split(sch.get_loops("C")[1], [None, 16])
    text = check(sch, result)
    assert "< 16;" in text and "< 4;" in text
