# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Initialization of reductions with and without steps: sizes of 0, and parts that no step reaches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from schedule_kernels import kernel

import relax_mlir as rx


def sums() -> rx.Module:
    return rx.Module.from_script("""
from relax_mlir.script import tir as T

@T.prim_func
def sums(A: T.Buffer((5, 21), "float32"), B: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 21):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
""")


@pytest.mark.parametrize("factors", [[16, 4], [4, 16], [40, 1], [1, 40], [3, 3, 5]])
@pytest.mark.parametrize("place", [0, -1])
def test_parts_without_a_step(factors: list[int], place: int) -> None:
    sch = rx.Schedule(sums())
    loops = sch.split(sch.get_loops(sch.get_block("B"))[1], factors)
    sch.rfactor(loops[place], 1)
    array = np.random.default_rng(0).standard_normal((5, 21)).astype("float32")
    result = np.from_dlpack(rx.compile(sch.mod)["main"](array))
    np.testing.assert_allclose(result, array.sum(axis=1), rtol=1e-5, err_msg=sch.show())


def test_parts_that_are_moved_read_nothing_beyond_the_end() -> None:
    sch = rx.Schedule(sums())
    _, inner = sch.split(sch.get_loops(sch.get_block("B"))[1], [None, 4])
    part = sch.rfactor(inner, 1)
    sch.compute_at(part, sch.get_loops(sch.get_block("B"))[0])
    assert "< 21" in sch.show()
    array = np.random.default_rng(0).standard_normal((5, 21)).astype("float32")
    result = np.from_dlpack(rx.compile(sch.mod)["main"](array))
    np.testing.assert_allclose(result, array.sum(axis=1), rtol=1e-5)


def test_reductions_that_start_from_the_same_number() -> None:
    """Merge equal fills in a pass. Each reduction still has its init when the schedule is applied."""
    sch = rx.Schedule(
        rx.Module.from_script("""
from relax_mlir.script import tir as T

@T.prim_func
def sums(A: T.Buffer((5, 21), "float32"), C: T.Buffer((5,), "float32")):
    B = T.alloc_buffer((5,), "float32")
    D = T.alloc_buffer((5,), "float32")
    for i, k in T.grid(5, 21):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i, k in T.grid(5, 21):
        with T.block("D"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + A[vi, vk] * B[vi]
    for i in range(5):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[vi] = D[vi] + B[vi]
""")
    )
    sch.rfactor(sch.get_loops("B")[1], 0)
    array = np.random.default_rng(0).standard_normal((5, 21)).astype("float32")
    result = np.from_dlpack(rx.compile(sch.mod)["main"](array))
    np.testing.assert_allclose(result, array.sum(axis=1) ** 2 + array.sum(axis=1), rtol=1e-4)


def _as_it_is(sch: rx.Schedule, block: Any) -> None:
    del sch, block


def _in_parts(sch: rx.Schedule, block: Any) -> None:
    _, k = sch.get_loops(block)
    outer, inner = sch.split(k, [None, 4])
    sch.reorder(inner, outer)


def _moved(sch: rx.Schedule, block: Any) -> None:
    sch.compute_at(block, sch.get_loops(sch.get_block("C"))[0])


def _factored(sch: rx.Schedule, block: Any) -> None:
    _, k = sch.get_loops(block)
    sch.rfactor(sch.split(k, [None, 4])[1], 0)


def _outside(sch: rx.Schedule, block: Any) -> None:
    i, k = sch.get_loops(block)
    sch.reorder(k, i)
    sch.vectorize(sch.split(i, [None, 8])[1])


def _decomposed(sch: rx.Schedule, block: Any) -> None:
    sch.decompose_reduction(block, sch.get_loops(block)[1])


@pytest.mark.parametrize("steps", [_as_it_is, _in_parts, _moved, _factored, _outside, _decomposed])
def test_sums_of_nothing(steps: Callable[[rx.Schedule, Any], None]) -> None:
    sch = rx.Schedule(kernel("means").module())
    steps(sch, sch.get_block("B"))
    program = rx.compile(sch.mod)
    # Memory that happens to be zero would hide a missing init, so the other sizes leave other values there.
    for shape in ((40, 3), (40, 0), (0, 4), (3, 1), (1, 9)):
        array = np.random.default_rng(0).standard_normal(shape).astype("float32")
        expected = array - array.sum(axis=1, keepdims=True) * np.float32(0.25)
        np.testing.assert_allclose(program["main"](array), expected, atol=1e-5, err_msg=sch.show())


def test_sums_of_nothing_are_seen() -> None:
    """Test that sums without an init show: they start from old contents of memory."""
    module = rx.Module.from_script("""
from relax_mlir.script import tir as T

@T.prim_func
def sums(a: T.handle, b: T.handle):
    m, n = T.int64(), T.int64()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m,), "float32")
    for i, k in T.grid(m, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(7)
            B[vi] = T.max(B[vi], A[vi, vk])
""")
    for steps in (_as_it_is, _in_parts, _factored, _outside, _decomposed):
        sch = rx.Schedule(module)
        steps(sch, sch.get_block("B"))
        result = np.from_dlpack(rx.compile(sch.mod)["main"](np.zeros((33, 0), "float32")))
        np.testing.assert_array_equal(result, np.full(33, 7, "float32"), err_msg=sch.show())
