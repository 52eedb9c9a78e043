# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TVM's schedules as steps of its traces, and further scheduling of modules that TVM has scheduled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from test_from_tvm import agree
from tvm.script import tirx as T
from tvm_modules import floats

import relax_mlir as rx


@T.prim_func(s_tir=True)
def product(A: T.Buffer((32, 24), "float32"), B: T.Buffer((24, 48), "float32"), C: T.Buffer((32, 48), "float32")):
    sums = T.sblock_alloc_buffer((32, 48))
    for i, j, k in T.grid(32, 48, 24):
        with T.sblock("sums"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                sums[vi, vj] = T.float32(0)
            sums[vi, vj] = sums[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 48):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = sums[vi, vj] + T.float32(1)


def tiles(sch: Any) -> None:
    i, j, k = sch.get_loops(sch.get_sblock("sums"))
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 16])
    k0, k1 = sch.split(k, [None, 6])
    sch.reorder(i0, j0, k0, i1, k1, j1)
    sch.reverse_compute_at(sch.get_sblock("C"), j0)
    sch.compute_at(sch.cache_read(sch.get_sblock("sums"), 0, "global"), k0)


def starts(sch: Any) -> None:
    tiles(sch)
    sch.decompose_reduction(sch.get_sblock("sums"), sch.get_loops(sch.get_sblock("sums"))[2])


def blocks(sch: Any) -> None:
    tiles(sch)
    sch.blockize(sch.get_loops(sch.get_sblock("C"))[-2])


def on(sch: Any) -> None:
    sch.unroll(sch.get_loops(sch.get_sblock("A_global"))[-1])
    sch.vectorize(sch.get_loops(sch.get_sblock("C"))[-1])
    sch.parallel(sch.get_loops(sch.get_sblock("A_global"))[0])


def results(module: Any, *arrays: np.ndarray) -> Any:
    return rx.compile(module)["main"](*arrays)


@pytest.mark.parametrize("steps", [tiles, starts, blocks])
def test_traces_are_done_again(steps: Callable[[Any], None]) -> None:
    theirs = tvm.s_tir.Schedule(product)
    steps(theirs)
    ours = rx.Schedule(rx.from_tvm(product))
    exec("\n".join(theirs.trace.as_python()), {"sch": ours})
    a, b = floats(32, 24), floats(24, 48)
    agree(results(ours.mod, a, b), [a @ b + 1])


@pytest.mark.parametrize("steps", [tiles, starts, blocks])
def test_schedules_go_on_from_tvms(steps: Callable[[Any], None]) -> None:
    theirs = tvm.s_tir.Schedule(product)
    steps(theirs)
    ours = rx.Schedule(rx.from_tvm(theirs.mod))
    names = [block.name for tree in ours.trees() for block in tree.blocks()]
    for name in names:
        count = len(theirs.get_loops(theirs.get_sblock(name)))
        assert len(ours.get_loops(ours.get_sblock(name))) == count
    on(ours)
    a, b = floats(32, 24), floats(24, 48)
    agree(results(ours.mod, a, b), [a @ b + 1])
