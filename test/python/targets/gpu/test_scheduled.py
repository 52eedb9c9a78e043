# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled PrimFuncs on a GPU: bound loops are its threads."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_gpu import EmulatedCuda, use_library
from schedule_kernels import kernel
from scheduled_gpu import TARGET, barriers_of, code_of, run_kernel, threads_of

import relax_mlir as rx


def run(sch: rx.Schedule, name: str) -> rx.runtime.Executable:
    return run_kernel(sch, kernel(name))


def test_a_block_of_threads_for_each_tile() -> None:
    sch = rx.Schedule(kernel("matmul_relu").module())
    product, relu = sch.get_block("Y"), sch.get_block("C")
    i, j, k = sch.get_loops(product)
    i, rows, j, columns = *sch.split(i, [None, 4]), *sch.split(j, [None, 8])
    sch.reorder(i, j, rows, columns, k)
    sch.bind(sch.fuse(i, j), "blockIdx.x")
    sch.bind(rows, "threadIdx.y")
    sch.bind(columns, "threadIdx.x")
    sch.reverse_compute_at(relu, columns)
    assert threads_of(run(sch, "matmul_relu")) == ["32, 1, 1"]


def test_memory_that_threads_share() -> None:
    sch = rx.Schedule(kernel("matmul_relu").module())
    product, relu = sch.get_block("Y"), sch.get_block("C")
    i, j, k = sch.get_loops(product)
    i, rows, j, columns, k, steps = *sch.split(i, [None, 4]), *sch.split(j, [None, 8]), *sch.split(k, [None, 8])
    sch.reorder(i, j, k, rows, columns, steps)
    for buffer in "AB":
        copy = sch.cache_read(product, buffer, "shared")
        sch.compute_at(copy, k)
        one, other = sch.get_loops(copy)[-2:]
        outer, inner = sch.split(sch.fuse(one, other), [None, 8])
        sch.bind(sch.split(outer, [None, 4])[1], "threadIdx.y")
        sch.bind(inner, "threadIdx.x")
    sch.decompose_reduction(product, k)
    for block in ("Y_init", "Y"):
        *_, rows, columns = (
            each for each in sch.get_loops(sch.get_block(block)) if each.name.startswith(("i_1", "j_1"))
        )
        sch.bind(rows, "threadIdx.y")
        sch.bind(columns, "threadIdx.x")
    sch.bind(i, "blockIdx.y")
    sch.bind(j, "blockIdx.x")
    executable = run(sch, "matmul_relu")
    assert ".shared" in code_of(executable) and barriers_of(executable)
    assert "32, 1, 1" in threads_of(executable)
    del relu


def test_a_row_for_each_thread() -> None:
    sch = rx.Schedule(kernel("softmax").module())
    for name in ("M", "E", "S", "D"):
        sch.bind(sch.get_loops(sch.get_block(name))[0], "threadIdx.x")
    run(sch, "softmax")


def test_threads_in_a_loop_of_one_block() -> None:
    sch = rx.Schedule(kernel("transpose").module())
    sch.bind(sch.get_loops(sch.get_block("B"))[1], "threadIdx.x")
    assert threads_of(run(sch, "transpose")) == ["14, 1, 1"]


def test_open_sizes() -> None:
    sch = rx.Schedule(kernel("rows").module())
    blocks, threads = sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 8])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    run(sch, "rows")


def test_unbound_loops_run_with_a_thread_per_element() -> None:
    sch = rx.Schedule(kernel("chain").module())
    sch.vectorize(sch.split(sch.get_loops(sch.get_block("C"))[1], [None, 4])[1])
    sch.parallel(sch.get_loops(sch.get_block("B"))[0])
    executable = run(sch, "chain")
    assert set(threads_of(executable)) == {"256, 1, 1"}, "a thread for each element"


def test_blocks_inside_of_loops_are_refused() -> None:
    sch = rx.Schedule(kernel("chain").module())
    _, j = sch.get_loops(sch.get_block("B"))
    sch.bind(j, "blockIdx.x")
    with pytest.raises(rx.RelaxError, match=r"'j' is blockIdx\.x: loops over blocks must be outermost"):
        rx.compile(sch.mod, TARGET)


def test_blocks_outside_of_thread_loops_run_on_the_first_thread() -> None:
    sch = rx.Schedule(kernel("products_of_bytes").module())
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    sch.decompose_reduction(block, j)
    sch.bind(i, "threadIdx.y")
    sch.bind(j, "threadIdx.x")
    executable = run(sch, "products_of_bytes")
    assert barriers_of(executable) == 1, "between the two, where all threads are"


def test_more_threads_than_a_block_has_are_refused() -> None:
    sch = rx.Schedule(kernel("chain").module())
    i, _ = sch.get_loops(sch.get_block("D"))
    sch.compute_at(sch.get_block("C"), i)
    for name, axes in (("C", ("threadIdx.y", "threadIdx.z")), ("D", ("threadIdx.x",))):
        fused = sch.get_loops(sch.get_block(name))[-1]
        for loop, axis in zip(sch.split(fused, [30, 2]), axes, strict=False):
            sch.bind(loop, axis)
    with pytest.raises(rx.RelaxError, match=r"take 1800 threads in a block \(30 of threadIdx.x, 30 of threadIdx.y, 2"):
        rx.compile(sch.mod, TARGET)


def test_more_memory_than_a_thread_has_is_refused() -> None:
    sch = rx.Schedule(rx.Module.from_script(_LARGE))
    i, _ = sch.get_loops(sch.get_block("B"))
    outer, _ = sch.split(i, [8, 64])
    sch.bind(outer, "threadIdx.x")
    sch.compute_at(sch.cache_read(sch.get_block("B"), "A", "local"), outer)
    with pytest.raises(rx.RelaxError, match="each thread needs 131072 bytes for 'A_local', at most 65536"):
        rx.compile(sch.mod, TARGET)


def test_more_memory_than_a_block_has_is_refused() -> None:
    sch = rx.Schedule(rx.Module.from_script(_LARGE))
    outer, inner = sch.get_loops(sch.get_block("B"))
    outer, _ = sch.split(outer, [2, 256])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    sch.compute_at(sch.cache_read(sch.get_block("B"), "A", "shared"), outer)
    with pytest.raises(
        rx.RelaxError, match="needs 524288 bytes of shared memory, a block may have 166912: use smaller t"
    ):
        rx.compile(sch.mod, TARGET)


_LARGE = """
from relax_mlir.script import tir as T

@T.prim_func
def large(A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32")):
    for i, j in T.grid(512, 512):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""

_OPEN = """
from relax_mlir.script import tir as T

@T.prim_func
def open(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
"""


@pytest.mark.parametrize("factors", [[None, 64], [None, 16, 4]], ids=str)
def test_elementwise_of_open_sizes(factors: list[int | None]) -> None:
    sch = rx.Schedule(rx.Module.from_script(_OPEN))
    blocks, threads, *lanes = sch.split(sch.fuse(*sch.get_loops(sch.get_block("B"))), factors)
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    for each in lanes:
        sch.vectorize(each)
    executable = rx.compile(sch.mod, TARGET)
    library = EmulatedCuda()
    with use_library(library):
        for shape in ((7, 61), (1, 1), (0, 5), (5, 0)):
            array = np.random.default_rng(0).normal(size=shape).astype("float32")
            np.testing.assert_array_equal(np.array(executable.copying()["main"](array)), array + 1)
    library.check()


@pytest.mark.parametrize(("lanes", "is_joined", "is_whole"), [(2, False, True), (4, True, True), (4, False, False)])
def test_vectors_at_once_where_they_begin_at_multiples_of_their_size(
    lanes: int, is_joined: bool, is_whole: bool
) -> None:
    """Vectorize lines of 30 elements as one line, since they begin at any alignment."""
    sch = rx.Schedule(kernel("chain").module())
    for name in "CB":
        sch.compute_inline(sch.get_block(name))
    i, j = sch.get_loops(sch.get_block("D"))
    if is_joined:
        blocks, threads, vector = sch.split(sch.fuse(i, j), [None, 10, lanes])
    else:
        blocks, (threads, vector) = i, sch.split(j, [None, lanes])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    sch.vectorize(vector)
    code = code_of(run(sch, "chain"))
    assert (f"ld.global.v{lanes}.b32" in code, f"st.global.v{lanes}.b32" in code) == (is_whole, is_whole)


def test_parallel_loops_of_a_thread_are_loops() -> None:
    sch = rx.Schedule(kernel("chain").module())
    i, j = sch.get_loops(sch.get_block("D"))
    sch.compute_at(sch.get_block("C"), j)
    sch.bind(i, "threadIdx.x")
    sch.parallel(j)
    run(sch, "chain")


def test_threads_wait_between_unrolled_steps() -> None:
    sch = rx.Schedule(kernel("chain").module())
    i, j = sch.get_loops(sch.get_block("D"))
    blocks, rows, steps, columns = *sch.split(i, [None, 4]), *sch.split(j, [None, 10])
    sch.reorder(blocks, steps, rows, columns)
    sch.set_scope(sch.get_block("C"), 0, "shared")
    sch.compute_at(sch.get_block("C"), steps)
    sch.bind(blocks, "blockIdx.x")
    sch.unroll(steps)
    for loop, axis in zip(sch.get_loops(sch.get_block("C"))[-2:], ("threadIdx.x", "threadIdx.y"), strict=True):
        sch.bind(loop, axis)
    sch.bind(rows, "threadIdx.y")
    sch.bind(columns, "threadIdx.x")
    executable = run(sch, "chain")
    assert "[480]" in code_of(executable) and barriers_of(executable) == 2 * 3
