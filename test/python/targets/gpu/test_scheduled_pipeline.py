# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pipeline on GPUs: threads of a block copy the next panels to shared memory, and wait once a step."""

from __future__ import annotations

import pytest
from relax_mlir.passes.kernels.loops.buffer_allocation import places_of
from relax_mlir.passes.kernels.loops.memory_scopes import Sharing
from relax_mlir.passes.kernels.loops.tree import Loop
from schedule_kernels import kernel
from scheduled_gpu import barriers_of, run_kernel

import relax_mlir as rx


def panels(name: str, stages: int, depth: int = 4) -> rx.Schedule:
    sch = rx.Schedule(kernel(name).module())
    block = sch.get_block("Y" if name == "matmul_relu" else "C")
    sums = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i, rows, row = sch.split(i, [None, 4, 2])
    j, columns, column = sch.split(j, [None, 8, 2])
    k, step = sch.split(k, [None, depth])
    sch.reorder(i, j, rows, columns, k, step, row, column)
    for loop, axis in ((i, "blockIdx.y"), (j, "blockIdx.x"), (rows, "threadIdx.y"), (columns, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.reverse_compute_at(sums, columns)
    for buffer in ("A", "B"):
        copy = sch.cache_read(block, buffer, "shared")
        sch.compute_at(copy, k)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, y, x = sch.split(fused, [None, 4, 8])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction(block, k)
    if stages:
        sch.pipeline(k, stages)
    return sch


@pytest.mark.parametrize("name", ["matmul_relu", "matmul"])
@pytest.mark.parametrize("stages", [2, 3])
def test_panels_in_shared_memory(name: str, stages: int) -> None:
    """Wait before the loop, once a step, and after the loop: a step reads other panels than it copies."""
    sch = panels(name, stages)
    assert barriers_of(run_kernel(sch, kernel(name))) == 3
    (tree,) = sch.trees()
    root = next(node for node in tree.body if isinstance(node, Loop))
    waits = Sharing(tree, root, places_of(tree)).waits
    assert len(waits & {node.name for node in tree.loop("k_0").body}) == 1


def test_dynamic_steps() -> None:
    run_kernel(panels("open_matmul", 2), kernel("open_matmul"))


def test_fewer_steps_than_stages() -> None:
    run_kernel(panels("matmul", 3, depth=16), kernel("matmul"))
