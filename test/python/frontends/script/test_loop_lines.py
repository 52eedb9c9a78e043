# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules that begin with the loops of a text: several blocks in a loop, nested blocks, kinds of loops."""

from __future__ import annotations

import numpy as np
import pytest
from schedule_kernels import check, kernel

import relax_mlir as rx

HEAD = "from tvm.script import tir as T\n\n\n@T.prim_func\n"


def scheduled(text: str) -> rx.Schedule:
    return rx.Schedule(rx.Module.from_script(HEAD + text))


def shown(sch: rx.Schedule) -> str:
    sch.trees()
    return sch.show()


def test_several_blocks_in_a_loop() -> None:
    sch = rx.Schedule(kernel("tiled").module())
    assert [loop.name for loop in sch.get_loops("sums")] == ["i0", "j0", "k0", "i1_2", "k1_1", "j1_1"]
    assert "for i0 in T.parallel(4):\n        for j0 in range(2):" in sch.show()
    assert 'sums = T.alloc_buffer((24, 32), "float32", scope="local")' in sch.show()
    assert "tir.schedule" not in str(sch.mod)
    sch.vectorize(sch.get_loops("sums")[-1])
    sch.unroll(sch.get_loops("sums")[-2])
    check(kernel("tiled"), sch)
    text = sch.mod.script()
    assert rx.Module.from_script(text).script() == text
    assert rx.Schedule(sch.mod).show() == sch.show()


def test_blocks_in_blocks() -> None:
    sch = rx.Schedule(kernel("nested").module())
    assert [loop.name for loop in sch.get_loops("outer")] == ["i", "j"]
    assert [loop.name for loop in sch.get_loops("B")] == ["i1", "j1"]
    assert 'with T.block("outer"):\n            for i1, j1 in T.grid(4, 8):' in sch.show()
    with pytest.raises(rx.RelaxError, match="block 'outer' is between"):
        sch.reorder(sch.get_loops("B")[0], sch.get_loops("outer")[1])
    sch.unroll(sch.get_loops("B")[0])
    check(kernel("nested"), sch)


def test_an_init_as_a_block_of_its_own() -> None:
    sch = scheduled("""def f(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8,), "float32")):
    for i, k0 in T.grid(8, 3):
        with T.block("outer"):
            vi, vko = T.axis.remap("SR", [i, k0])
            with T.init():
                with T.block("start"):
                    B[vi] = T.float32(0)
            for k1 in range(2):
                with T.block("sum"):
                    vki = T.axis.reduce(2, k1)
                    B[vi] = B[vi] + A[vi, vko * 2 + vki]
""")
    assert 'with T.block("start"):' in shown(sch) and "T.where(k0 < 1)" in sch.show()
    sch.unroll(sch.get_loops("sum")[0])
    a = np.random.default_rng(0).random((8, 6), dtype="float32")
    np.testing.assert_allclose(np.from_dlpack(rx.compile(sch.mod)["main"](a)), a.sum(axis=1), rtol=1e-5)


def test_buffers_read_in_other_steps_have_separate_loops() -> None:
    """Limit a buffer's lifetime to one step of the loops around all of its uses."""
    sch = scheduled("""def f(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * T.float32(2)
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + B[T.max(vi - 1, 0)]
""")
    assert shown(sch).count("range(16)") == 2
    sch.unroll(sch.get_loops("C")[0])
    a = np.arange(16, dtype="float32")
    wanted = 2 * (a + np.maximum(a - 1, 0))
    np.testing.assert_array_equal(np.from_dlpack(rx.compile(sch.mod)["main"](a)), wanted)


def test_loops_that_cannot_run_so_run_in_order() -> None:
    sch = scheduled("""def f(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.parallel(8):
        for k in T.vectorized(16):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
""")
    assert "for i in T.parallel(8):\n        for k in range(16):" in shown(sch)


def test_sums_that_others_read_before_they_are_whole() -> None:
    """Run a program that reads a sum early as written. It has no blocks for schedules."""
    text = """def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4,))
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = B[vi]
"""
    a = np.random.default_rng(0).random((4, 8), dtype="float32")
    result = rx.compile(rx.Module.from_script(HEAD + text))["main"](a)
    np.testing.assert_allclose(np.from_dlpack(result), a.cumsum(axis=1), rtol=1e-5)
    with pytest.raises(rx.RelaxError, match="only linalg operations"):
        scheduled(text).get_loops("C")


def test_blocks_that_repeat_a_computation_are_kept() -> None:
    """Repeat blocks that compute the same again, any number of times."""
    check(kernel("overlapping"), rx.Schedule(kernel("overlapping").module()))
    text = """def f(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((8,))
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vj = T.axis.spatial(8, j)
            B[vj] = A[0, vj] * T.float32(2)
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj] + A[vi, vj]
"""
    sch = scheduled(text)
    assert len(sch.get_loops("B")) == 2
    sch.unroll(sch.get_loops("B")[1])
    a = np.random.default_rng(0).random((4, 8), dtype="float32")
    np.testing.assert_allclose(np.from_dlpack(rx.compile(sch.mod)["main"](a)), 2 * a[:1] + a, rtol=1e-5)
