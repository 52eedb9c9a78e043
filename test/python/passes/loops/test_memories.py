# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memories of devices: positions of buffers, refusals, and that no plan changes a result."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from own_rules import without_new
from relax_mlir.emit import loops
from relax_mlir.passes.kernels.loops.buffer_allocation import places_of
from relax_mlir.passes.kernels.loops.intrins import _INTRINS
from relax_mlir.passes.kernels.loops.memories import _MEMORIES
from relax_mlir.passes.kernels.loops.memory_arenas import arenas_of
from schedule_kernels import KERNELS, Kernel, check, kernel
from schedule_steps import a_block, a_loop, random_steps

import relax_mlir as rx
from relax_mlir import te
from relax_mlir.script import tir as T

SRAM, SMALL, COPIES, BANKS = "test.sram", "test.small", "test.copies", "test.banks"


@pytest.fixture(autouse=True)
def memories() -> Iterator[None]:
    with without_new(_MEMORIES), without_new(_INTRINS):
        rx.schedules.register_memory(SRAM, bytes=1 << 20)
        rx.schedules.register_memory(SMALL, bytes=64, alignment=32)
        rx.schedules.register_memory(COPIES, bytes=1 << 16, copies_only=True)
        rx.schedules.register_memory(BANKS, bytes=4096, banks=4)
        yield


def staged(scope: str) -> rx.Schedule:
    """Return a schedule with rows of A, columns of B, and the sums of a tile in a scope."""
    sch = rx.Schedule(kernel("matmul").module())
    tile = sch.cache_write("C", 0, scope)
    i, j, k = sch.get_loops("C")
    j, inner = sch.split(j, [None, 8])
    sch.reorder(i, j, k, inner)
    sch.compute_at(sch.cache_read("C", 0, scope), i)
    sch.compute_at(sch.cache_read("C", 1, scope), j)
    sch.reverse_compute_at(tile, j)
    return sch


def parts(sch: rx.Schedule, scope: str) -> dict[str, tuple[int, int]]:
    """Return the offset and the bytes of each buffer."""
    (tree,) = sch.trees()
    return {part.buffer.name: (part.offset, part.bytes) for part in arenas_of(tree, places_of(tree))[scope].parts}


def test_buffers_that_live_together_are_apart() -> None:
    sch = staged(SRAM)
    found = sorted(parts(sch, SRAM).values())
    assert len(found) == 3 and all(offset % 64 == 0 for offset, _ in found)
    assert all(one[0] + one[1] <= other[0] for one, other in pairwise(found))
    check(kernel("matmul"), sch)


def test_buffers_that_live_one_after_the_other_share() -> None:
    sch = rx.Schedule(kernel("chain").module())
    sch.set_scope("B", 0, SRAM)
    sch.cache_read("D", 0, SRAM)
    found = parts(sch, SRAM)
    assert len(found) == 2 and {offset for offset, _ in found.values()} == {0}
    check(kernel("chain"), sch)


def test_buffers_that_live_together_are_in_other_banks() -> None:
    sch = staged(BANKS)
    found = parts(sch, BANKS)
    assert {offset // 1024 for offset, _ in found.values()} == {0, 1, 2}
    assert all(offset % 1024 + size <= 1024 for offset, size in found.values())
    check(kernel("matmul"), sch)


def test_a_buffer_larger_than_a_bank_spans_several() -> None:
    sch = rx.Schedule(kernel("chain").module())
    sch.cache_read("D", "A", BANKS)
    assert parts(sch, BANKS) == {"A_test_banks": (0, 1440)}


def test_buffers_beyond_the_memory_are_refused_with_the_plan() -> None:
    sch = staged(SMALL)
    with pytest.raises(rx.RelaxError, match=r"'test\.small' has 64 bytes, buffers of @matmul take") as refused:
        rx.compile(sch.mod)
    assert "offset, bytes, buffer" in str(refused.value) and "C_test_small" in str(refused.value)


def test_computing_in_a_memory_for_copies_is_refused() -> None:
    with pytest.raises(rx.RelaxError, match="only copies and tensor intrinsics use that; tensorize it"):
        rx.compile(staged(COPIES).mod)


def test_threads_do_not_share_an_arena() -> None:
    sch = staged(SRAM)
    sch.parallel(sch.get_loops("C")[0])
    with pytest.raises(rx.RelaxError, match="threads of the parallel loop 'i' would share"):
        rx.compile(sch.mod)


def test_sizes_must_be_known() -> None:
    a, b = (te.placeholder((te.var("n"), 8), name=name) for name in "ab")
    del b
    module = te.create_prim_func([a, te.compute(a.shape, lambda i, j: a[i, j] * 2.0, name="B")])
    sch = rx.Schedule(module)
    sch.cache_read("B", 0, SRAM)
    with pytest.raises(rx.RelaxError, match=r"is in 'test\.sram', where sizes must be static"):
        rx.compile(sch.mod)


def test_names_and_sizes() -> None:
    register = rx.schedules.register_memory
    with pytest.raises(rx.RelaxError, match="none of global, local, shared; got 'local'"):
        register("local", bytes=4)
    with pytest.raises(rx.RelaxError, match="a power of 2, got 48"):
        register("test.other", bytes=4, alignment=48)
    with pytest.raises(rx.RelaxError, match="at least 1 byte, got 0"):
        register("test.other", bytes=0)
    with pytest.raises(rx.RelaxError, match=r"there is a memory 'test\.sram' already"):
        register(SRAM, bytes=4)
    assert SRAM in [each.name for each in rx.schedules.all_memories()]
    with pytest.raises(rx.RelaxError, match=r"'test\.sam' is no scope of memory"):
        rx.Schedule(kernel("matmul").module()).cache_read("C", 0, "test.sam")


def test_intrinsics_get_offsets() -> None:
    """Pass offsets of parts to an intrinsic, which a device needs for its memory."""

    @T.prim_func
    def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]

    seen = []

    @rx.schedules.register_tensor_intrin("test.dma", copy)
    def emit(source: object, target: object) -> None:
        seen.append(str(rx.schedules.offset_in_memory(target).type))
        loops.nest(loops.sizes(target), lambda i: loops.store(loops.load(source, i), target, i))

    a = te.placeholder((4, 8), name="A")
    module = te.create_prim_func([a, te.compute((4, 8), lambda i, j: a[i, j] * 2.0, name="B")])
    sch = rx.Schedule(module)
    cached = sch.cache_read("B", 0, SRAM)
    sch.compute_at(cached, sch.get_loops("B")[0])
    sch.tensorize(sch.get_loops(cached)[-1], "test.dma")
    array = np.arange(32, dtype="float32").reshape(4, 8)
    np.testing.assert_array_equal(np.from_dlpack(rx.compile(sch.mod)["main"](array)), 2 * array)
    assert seen == ["i64"]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@draws(20, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 6))
def test_random_schedule(kernel: Kernel, seed: int, count: int) -> None:
    """Draw steps with staging in the device's memory. A refusal by the memory is an error message."""
    rng = random.Random(seed)
    sch = rx.Schedule(kernel.module(), seed=seed)
    for _ in range(count):
        random_steps(rng, sch, 1)
        try:
            cached = rng.choice((sch.cache_read, sch.cache_write))(a_block(rng, sch), 0, SRAM)
            rng.choice((sch.compute_at, sch.reverse_compute_at))(cached, a_loop(rng, sch))
        except rx.RelaxError:
            continue
    try:
        check(kernel, sch)
    except rx.RelaxError as error:
        assert "test.sram" in error.message, error
