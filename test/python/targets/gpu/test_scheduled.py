# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduled PrimFuncs on a GPU: loops that are bound are its threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_gpu import Checks, EmulatedCuda, use_library
from schedule_kernels import kernel

import relax_mlir as rx

TARGET = "cuda{arch=sm_80}"


def run(sch: rx.Schedule, name: str) -> rx.runtime.Executable:
    """The program, which computes what it should."""
    arrays = kernel(name).arrays(0)
    executable = rx.compile(sch.mod, TARGET)
    # What is read before it is written is not used: LLVM loads sums before it asks whether they are the first.
    library = EmulatedCuda(checks=Checks(unwritten=False))
    with use_library(library):
        result = np.array(executable.copying()["main"](*arrays))
    library.check()
    np.testing.assert_allclose(result, kernel(name).expected(*arrays), rtol=1e-4, atol=1e-5)
    return executable


def threads_of(executable: Any) -> list[str]:
    text = bytes(executable._artifact.devices[0].data).decode()
    return [line.partition(".maxntid")[2].strip() for line in text.splitlines() if ".maxntid" in line]


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
    text = bytes(executable._artifact.devices[0].data).decode()
    assert ".shared" in text and "bar.sync" in text
    assert "32, 1, 1" in threads_of(executable)
    del relu


def test_a_row_for_each_thread() -> None:
    sch = rx.Schedule(kernel("softmax").module())
    for name in ("M", "E", "S", "D"):
        sch.bind(sch.get_loops(sch.get_block(name))[0], "threadIdx.x")
    run(sch, "softmax")


def test_open_sizes() -> None:
    sch = rx.Schedule(kernel("rows").module())
    blocks, threads = sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 8])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    run(sch, "rows")


def test_what_is_not_bound_runs_too() -> None:
    sch = rx.Schedule(kernel("chain").module())
    sch.vectorize(sch.split(sch.get_loops(sch.get_block("C"))[1], [None, 4])[1])
    sch.parallel(sch.get_loops(sch.get_block("B"))[0])
    run(sch, "chain")


def test_blocks_inside_of_loops_are_refused() -> None:
    sch = rx.Schedule(kernel("chain").module())
    _, j = sch.get_loops(sch.get_block("B"))
    sch.bind(j, "blockIdx.x")
    with pytest.raises(rx.RelaxError, match=r"'j' is blockIdx\.x: loops over blocks have to be outermost"):
        rx.compile(sch.mod, TARGET)


def test_threads_that_nothing_says_what_they_do_are_refused() -> None:
    sch = rx.Schedule(kernel("products_of_bytes").module())
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    sch.decompose_reduction(block, j)
    sch.bind(i, "threadIdx.y")
    sch.bind(j, "threadIdx.x")
    with pytest.raises(
        rx.RelaxError, match=r"'j_init' writes what all threads see, and no loop around or in it is threadIdx\.x"
    ):
        rx.compile(sch.mod, TARGET)
