# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cooperation of a block's threads: copies in shared memory, parts of sums, necessary and unnecessary barriers."""

from __future__ import annotations

import pytest
from schedule_kernels import Kernel, kernel
from scheduled_gpu import TARGET, barriers_of, code_of, run_kernel, threads_of

import relax_mlir as rx

_PRODUCT = Kernel(
    "product",
    """
@T.prim_func
def product(A: T.Buffer((32, 48), "float32"), B: T.Buffer((48, 64), "float32"), C: T.Buffer((32, 64), "float32")):
    for i, j, k in T.grid(32, 64, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
    (((32, 48), "float32"), ((48, 64), "float32")),
    lambda a, b: a @ b,
)


def tiled(sch: rx.Schedule) -> None:
    """Tile a product like TVM's users: panels in shared memory that all threads fetch, sums in registers."""
    product = sch.get_block("C")
    i, j, k = sch.get_loops(product)
    i, rows, row = sch.split(i, [None, 4, 4])
    j, columns, column = sch.split(j, [None, 8, 4])
    k, step = sch.split(k, [None, 8])
    sch.reorder(i, j, rows, columns, k, step, row, column)
    for loop, axis in ((i, "blockIdx.y"), (j, "blockIdx.x"), (rows, "threadIdx.y"), (columns, "threadIdx.x")):
        sch.bind(loop, axis)
    result = sch.cache_write(product, 0, "local")
    sch.reverse_compute_at(result, columns)
    sch.vectorize(sch.get_loops(result)[-1])
    for buffer in "AB":
        panel = sch.cache_read(product, buffer, "shared")
        sch.compute_at(panel, k)
        fused = sch.fuse(*sch.get_loops(panel)[-2:])
        _, y, x, lanes = sch.split(fused, [None, 4, 8, 4])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lanes)
    start = sch.decompose_reduction(product, k)
    for block in (product, start):
        for loop in sch.get_loops(block)[-2:]:
            sch.unroll(loop)


def test_a_product_as_it_is_usually_written() -> None:
    sch = rx.Schedule(_PRODUCT.module())
    tiled(sch)
    executable = run_kernel(sch, _PRODUCT)
    code = code_of(executable)
    assert threads_of(executable) == ["32, 1, 1"] and barriers_of(executable) == 2
    assert "ld.global.b32" not in code and code.count("ld.global.v4.b32") == 3 and code.count("st.shared.v4.b32") == 3
    assert code.count("st.global.v4.b32") == 4 and ".local" not in code


def test_the_same_where_tiles_go_too_far() -> None:
    sch = rx.Schedule(kernel("matmul").module())
    tiled(sch)
    run_kernel(sch, kernel("matmul"))


def test_a_block_for_a_row_whose_sum_threads_share() -> None:
    sch = rx.Schedule(kernel("softmax").module())
    block = sch.get_block("S")
    _, k = sch.get_loops(block)
    part = sch.rfactor(sch.split(k, [None, 16])[1], 1)
    row, _ = sch.get_loops(block)
    sch.compute_at(part, row)
    sch.bind(row, "blockIdx.x")
    sch.bind(sch.get_loops(part)[1], "threadIdx.x")
    executable = run_kernel(sch, kernel("softmax"))
    assert "16, 1, 1" in threads_of(executable) and barriers_of(executable) == 1


def test_a_reduction_over_threads_is_refused_with_what_helps() -> None:
    sch = rx.Schedule(kernel("rows").module())
    with pytest.raises(rx.RelaxError, match=r"'j' reduces in block 'B' \(vj\).*use rfactor, which creates a loop"):
        sch.bind(sch.get_loops(sch.get_block("B"))[1], "threadIdx.x")


def test_threads_in_threads_each_with_a_part_of_the_memory() -> None:
    """Put values that a row's threads exchange into the block's memory, row by row."""
    sch = rx.Schedule(kernel("softmax").module())
    exps, sums, result = (sch.get_block(name) for name in "ESD")
    i, j = sch.get_loops(result)
    sch.compute_at(sums, i)
    sch.compute_at(exps, i)
    sch.bind(i, "threadIdx.y")
    sch.bind(sch.get_loops(exps)[-1], "threadIdx.x")
    sch.bind(j, "threadIdx.x")
    executable = run_kernel(sch, kernel("softmax"))
    assert "[1440]" in code_of(executable), "9 rows of 40"
    assert barriers_of(executable) == 1, "between what is made and what sums it; each thread has its row's sum"


def test_no_waits_where_each_thread_goes_on_with_its_own() -> None:
    sch = rx.Schedule(kernel("chain").module())
    i, j = sch.get_loops(sch.get_block("D"))
    sch.compute_at(sch.get_block("C"), j)
    sch.compute_at(sch.get_block("B"), j)
    steps, threads = sch.split(j, [None, 8])
    sch.bind(i, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    del steps
    assert barriers_of(run_kernel(sch, kernel("chain"))) == 0


def test_elements_that_other_threads_take_in_the_next_step() -> None:
    """Move a copy by one at each step: threads write elements that others have written before."""
    sch = rx.Schedule(kernel("blur").module())
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    copy = sch.cache_read(block, "A", "shared")
    sch.compute_at(copy, j)
    sch.bind(sch.get_loops(copy)[-1], "threadIdx.x")
    sch.bind(i, "blockIdx.x")
    sch.transform_layout(copy, ("write", 0), lambda i, j: (j // 8, i, j % 8), pad_value=0)
    run_kernel(sch, kernel("blur"))


def test_copies_of_elements_that_other_threads_compute() -> None:
    """Wait before each thread copies the row, which all threads have computed in the same loops."""
    sch = rx.Schedule(kernel("matmul").module())
    product = sch.get_block("C")
    i, j, _ = sch.get_loops(product)
    i, row = sch.split(i, [None, 3])
    sch.reorder(j, row)
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    result = sch.cache_write(product, 0, "shared")
    sch.reverse_compute_at(result, j)
    sch.decompose_reduction(product, j)
    copy = sch.cache_read(result, 0, "shared")
    sch.compute_at(copy, sch.get_loops(result)[-1])
    assert barriers_of(run_kernel(sch, kernel("matmul"))) == 2, "the other one is after the init"


def test_copies_in_several_steps_wait_once() -> None:
    """Do not wait at each step of a copy: a step of 16 threads ends in the middle of a row of 20."""
    sch = rx.Schedule(kernel("blur").module())
    block = sch.get_block("C")
    i, j = sch.get_loops(block)
    copy = sch.cache_read(block, 0, "shared")
    sch.compute_at(copy, i)
    sch.bind(sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 16])[1], "threadIdx.x")
    sch.bind(j, "threadIdx.x")
    sch.bind(i, "blockIdx.x")
    assert barriers_of(run_kernel(sch, kernel("blur"))) == 1


def test_panels_of_each_thread_that_are_to_be_all_threads() -> None:
    """Refuse to share panels: before its loops are bound, a step needs only a thread's own rows."""
    sch = rx.Schedule(_PRODUCT.module())
    product = sch.get_block("C")
    i, j, k = sch.get_loops(product)
    panel = sch.cache_read(product, "A", "shared")
    sch.compute_at(panel, j)
    sch.bind(sch.get_loops(panel)[-1], "threadIdx.x")
    with pytest.raises(rx.RelaxError, match="'A_shared' depends on 'i': bind it before compute_at moves"):
        sch.bind(i, "threadIdx.x")
    del k


def test_loops_of_one_axis_that_mean_different_threads_are_refused() -> None:
    sch = rx.Schedule(kernel("chain").module())
    i, j = sch.get_loops(sch.get_block("D"))
    sch.bind(i, "threadIdx.x")
    with pytest.raises(rx.RelaxError, match=r"is already threadIdx\.x, and 'D' depends on 'i_2': bind it before"):
        sch.bind(j, "threadIdx.x")


def test_shared_memory_that_all_threads_fill_on_a_cpu() -> None:
    """Run loops over threads sequentially on a CPU, each step with the whole copy."""
    sch = rx.Schedule(_PRODUCT.module())
    tiled(sch)
    arrays = _PRODUCT.arrays(0)
    result = rx.compile(sch.mod)["main"](*arrays)
    assert abs(result - _PRODUCT.expected(*arrays)).max() < 1e-4


@pytest.mark.parametrize("threads", [None, 2])
def test_elements_that_several_threads_would_write_are_refused(threads: int | None) -> None:
    sch = rx.Schedule(kernel("blur").module())
    block = sch.get_block("B")
    copy = sch.cache_read(block, "A", "shared")
    i, j = sch.get_loops(block)
    if threads is not None:
        _, j = sch.split(j, [None, threads])
    sch.compute_at(copy, j)
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    sch.transform_layout(copy, ("write", 0), lambda i, j: (j // 8, i, j % 8), pad_value=0)
    with pytest.raises(rx.RelaxError, match="'A_shared' writes the same elements of 'A_shared' at each step of 'j"):
        rx.compile(sch.mod, TARGET)
