# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asynchronous copies and intrinsics of devices: waits at the necessary places, and not earlier."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from asynchronous_device import SRAM, SUMS, agrees_in_all_modes, device, registered
from c_programs import needs_compiler
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from model_kernels import MODEL_KERNELS
from schedule_kernels import KERNELS, Kernel, agree, kernel
from schedule_steps import a_block, a_loop, copied_ahead, random_steps

import relax_mlir as rx
from relax_mlir import te

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def on_device() -> Iterator[None]:
    with registered(copies_only=False):
        yield


def check(kernel: Kernel, sch: rx.Schedule, seed: int = 0) -> None:
    function = rx.compile(sch.mod)["main"]
    agrees_in_all_modes(lambda: agree(kernel, function, seed, sch.show()))


def tiles(name: str = "matmul_relu") -> tuple[rx.Schedule, list[object]]:
    """Return products of 4 x 4 x 4 on the device."""
    sch = rx.Schedule(kernel(name).module())
    block = sch.get_block("Y")
    sums = sch.cache_write(block, 0, SUMS)
    loops = [each for loop in sch.get_loops(block) for each in sch.split(loop, [None, 4])]
    i, rows, j, columns, k, steps = loops
    sch.reorder(i, j, k, rows, columns, steps)
    sch.reverse_compute_at(sums, j)
    for buffer in ("A", "B"):
        sch.compute_at(sch.cache_read(block, buffer, SRAM), k)
    init = sch.decompose_reduction(block, k)
    sch.tensorize(sch.get_loops(init)[-2], "device.clear")
    sch.tensorize(rows, "device.product")
    return sch, [i, j, k]


def test_products_of_tiles() -> None:
    sch, _ = tiles()
    check(kernel("matmul_relu"), sch)
    assert device().device_started(0) == 4 * 8 * (6 * 2 + 1) and device().device_started(1) == 4 * 8 * (6 + 1)


def test_one_copy_is_a_whole_nest() -> None:
    sch = rx.Schedule(kernel("chain").module())
    sch.cache_read("D", "A", SRAM)
    check(kernel("chain"), sch)
    assert device().device_started(0) == 1


def test_parts_at_edges() -> None:
    """Copy a smaller part at the end where the size does not divide."""
    sch = rx.Schedule(kernel("matmul").module())
    i, j, k = sch.get_loops("C")
    j, inner = sch.split(j, [None, 8])
    sch.reorder(i, j, k, inner)
    sch.compute_at(sch.cache_read("C", "B", SRAM), j)
    check(kernel("matmul"), sch)
    assert device().device_started(0) == 21 * 5


@pytest.mark.parametrize("seed", range(4))
def test_dynamic_sizes(seed: int) -> None:
    sch = rx.Schedule(kernel("open_matmul").module())
    i, j, k = sch.get_loops("C")
    (i, rows), (j, columns), (k, steps) = (sch.split(loop, [None, 4]) for loop in (i, j, k))
    sch.reorder(i, j, k, rows, columns, steps)
    for buffer in ("A", "B"):
        sch.compute_at(sch.cache_read("C", buffer, SRAM), k)
    check(kernel("open_matmul"), sch, seed)


def test_another_order_of_dimensions() -> None:
    sch = rx.Schedule(kernel("matmul").module())
    copy = sch.cache_read("C", "B", SRAM)
    sch.transform_layout(copy, ("write", 0), lambda k, j: (j, k))
    sch.compute_at(copy, sch.get_loops("C")[0])
    check(kernel("matmul"), sch)
    assert device().device_started(0) == 21


def test_blocks_of_a_layout() -> None:
    """Split a copy into several if the device cannot do it at once."""
    sch = rx.Schedule(kernel("matmul").module())
    copy = sch.cache_read("C", "B", SRAM)
    sch.transform_layout(copy, ("write", 0), lambda k, j: (j // 7, k, j % 7))
    _, j = sch.get_loops(copy)
    outer, inner = sch.split(j, [None, 7])
    sch.reorder(outer, sch.get_loops(copy)[0])
    check(kernel("matmul"), sch)
    assert device().device_started(0) == 5
    del inner


def test_windows() -> None:
    sch = rx.Schedule(kernel("convolution").module())
    copy = sch.reindex("Y", ("read", 0))
    sch.set_scope(copy, 0, SRAM)
    check(kernel("convolution"), sch)
    assert device().device_started(0) == 1


def test_memory_that_another_buffer_gets() -> None:
    """Finish the first buffer's copy out before another buffer overwrites it."""
    sch = rx.Schedule(kernel("halves").module())
    for block in ("B", "C"):
        sch.cache_write(block, 0, SRAM)
    check(kernel("halves"), sch)
    assert device().device_waits(0, 0) == 2


def test_a_queue_shared_by_threads_is_refused() -> None:
    sch, (i, *_) = tiles()
    sch.parallel(i)
    with pytest.raises(rx.RelaxError, match="threads of"):
        rx.compile(sch.mod)


def test_buffers_read_at_computed_indices_cannot_be_pipelined() -> None:
    sch = rx.Schedule(kernel("gather").module())
    _, j = sch.get_loops("B")
    for buffer in ("A", "I"):
        sch.compute_at(sch.cache_read("B", buffer, SRAM), j)
    with pytest.raises(rx.RelaxError, match=r"pipeline\(j\): 'A_device_sram' is read at computed indices"):
        sch.pipeline(j)
    check(kernel("gather"), sch)


def test_operands_elsewhere_are_refused_with_the_step() -> None:
    sch = rx.Schedule(kernel("matmul_relu").module())
    block = sch.get_block("Y")
    loops = [each for loop in sch.get_loops(block) for each in sch.split(loop, [None, 4])]
    sch.reorder(*loops[::2], *loops[1::2])
    sch.decompose_reduction(block, loops[4])
    wanted = r"""the intrinsic's 'A' must be in 'device\.sram': sch.cache_read\(Y, "A", "device\.sram"\)"""
    with pytest.raises(rx.RelaxError, match=wanted):
        sch.tensorize(loops[1], "device.product")
    for buffer in ("A", "B"):
        sch.cache_read(block, buffer, SRAM)
    with pytest.raises(rx.RelaxError, match=r'sch.cache_write\(Y, "Y", "device\.sums"\) copies it there'):
        sch.tensorize(loops[1], "device.product")


def test_wrong_memories_and_intrinsics_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match="has a wait= function for copies, but no copy= function"):
        rx.schedules.register_memory("device.other", bytes=64, wait=lambda pending: None)
    with pytest.raises(rx.RelaxError, match="100 bytes cannot form 2 banks"):
        rx.schedules.register_memory("device.other", bytes=100, banks=2)
    a = te.placeholder((4,), name="A")
    described = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name="B")])
    with pytest.raises(rx.RelaxError, match=r"'device.bad' has no operand 'C' that could be in 'device\.sram'"):
        rx.schedules.register_tensor_intrin("device.bad", described, memories={"C": SRAM})
    with pytest.raises(rx.RelaxError, match=r"there is no memory 'device\.sran'; did you mean 'device\.sram'\?"):
        rx.schedules.register_tensor_intrin("device.bad", described, memories={"A": "device.sran"})


@pytest.mark.parametrize("kernel", KERNELS + MODEL_KERNELS, ids=lambda kernel: kernel.name)
@draws(20, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 6))
def test_random_schedule(kernel: Kernel, seed: int, count: int) -> None:
    """Draw steps with staging in the device's memory."""
    rng = random.Random(seed)
    sch = rx.Schedule(kernel.module(), seed=seed)
    for _ in range(count):
        random_steps(rng, sch, 1)
        copied_ahead(rng, sch, (SRAM, SUMS, "local"))
        try:
            cached = rng.choice((sch.cache_read, sch.cache_write))(a_block(rng, sch), 0, SRAM)
            rng.choice((sch.compute_at, sch.reverse_compute_at))(cached, a_loop(rng, sch))
        except rx.RelaxError:
            continue
    try:
        check(kernel, sch)
    except rx.RelaxError as error:
        reasons = "'device.", "is asynchronous", "the code would have"
        assert any(reason in error.message for reason in reasons), error
