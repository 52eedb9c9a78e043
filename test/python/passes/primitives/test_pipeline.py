# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pipeline: steps copy the operands of later steps, in any memory. Results stay the same, and the device stays busy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asynchronous_device import SRAM, SUMS, agrees_in_all_modes, device, registered
from c_programs import needs_compiler
from schedule_kernels import Kernel, agree, kernel

import relax_mlir as rx

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def on_device() -> Iterator[None]:
    with registered(copies_only=False):
        yield


def check(kernel: Kernel, sch: rx.Schedule, seed: int = 0) -> None:
    function = rx.compile(sch.mod)["main"]
    agrees_in_all_modes(lambda: agree(kernel, function, seed, sch.show()))
    again = rx.Schedule(kernel.module(), trace=sch.trace)
    assert again.show() == sch.show()


def staged(name: str, scope: str, factor: int) -> tuple[rx.Schedule, Any]:
    """Return products with copies of both inputs at each group of steps."""
    sch = rx.Schedule(kernel(name).module())
    block = sch.get_block("Y" if name == "matmul_relu" else "C")
    i, j, k = sch.get_loops(block)
    (i, rows), (j, columns), (k, steps) = (
        sch.split(loop, [None, each]) for loop, each in ((i, 4), (j, 8), (k, factor))
    )
    sch.reorder(i, j, k, rows, columns, steps)
    for buffer in ("A", "B"):
        sch.compute_at(sch.cache_read(block, buffer, scope), k)
    return sch, k


@pytest.mark.parametrize("scope", ["local", SRAM])
@pytest.mark.parametrize(("factor", "stages"), [(8, 2), (4, 3), (5, 2), (12, 4), (24, 2), (1, 5)])
def test_of_steps_of_a_reduction(scope: str, factor: int, stages: int) -> None:
    """Pipeline also with fewer steps than stages, and with a shorter last step."""
    sch, k = staged("matmul", scope, factor)
    sch.pipeline(k, stages)
    check(kernel("matmul"), sch)


@pytest.mark.parametrize("scope", ["local", SRAM])
@pytest.mark.parametrize("seed", range(5))
def test_of_dynamic_loops(scope: str, seed: int) -> None:
    sch, k = staged("open_matmul", scope, 3)
    sch.pipeline(k, 2 + seed % 2)
    check(kernel("open_matmul"), sch, seed)


def on_tiles(stages: int) -> rx.Schedule:
    sch = rx.Schedule(kernel("matmul_relu").module())
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
    sch.pipeline(k, stages)
    sch.pipeline(j)
    return sch


@pytest.mark.parametrize(("stages", "copies"), [(2, 0), (3, 2), (4, 4)])
def test_copies_go_on_while_the_device_computes(stages: int, copies: int) -> None:
    """Keep copies of as many later steps in flight. A product starts before the previous one has ended."""
    sch = on_tiles(stages)
    check(kernel("matmul_relu"), sch)
    steady = 4 * 8 * (7 - stages)
    assert device().device_waits(0, copies) >= steady
    assert device().device_waits(1, 1) >= steady


def test_of_a_loop_over_results() -> None:
    """Copy a step's results out while the next step computes."""
    sch = rx.Schedule(kernel("chain").module())
    for block in ("B", "C"):
        sch.compute_inline(block)
    i, _ = sch.get_loops("D")
    sch.reverse_compute_at(sch.cache_write("D", 0, SRAM), i)
    sch.compute_at(sch.cache_read("D", "A", SRAM), i)
    sch.pipeline(i)
    check(kernel("chain"), sch)
    assert "D_device_sram = T.alloc_buffer((2, 1, 30)" in sch.show()


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (lambda sch, k: sch.pipeline(k, 1), "stages must be a number from 2 to 16, got 1"),
        (lambda sch, k: sch.pipeline(sch.get_loops("C")[0]), "no step of 'i_0' copies data that only this step uses"),
        (lambda sch, k: (sch.pipeline(k), sch.pipeline(k)), "'k_0' is pipelined: only serial loops"),
        (lambda sch, k: (sch.pipeline(k), sch.parallel(k)), "'k_0' is already pipelined"),
        (lambda sch, k: (sch.unroll(sch.get_loops("C")[0]), sch.pipeline(k)), "'i_0' around 'k_0' is unrolled"),
    ],
)
def test_refusals(step: Any, problem: str) -> None:
    sch, k = staged("matmul", "local", 8)
    with pytest.raises(rx.RelaxError) as refused:
        step(sch, k)
    assert problem in str(refused.value)


def test_what_steps_write_is_not_copied_ahead() -> None:
    """Refuse to copy ahead: each step copies its own results."""
    sch = rx.Schedule(kernel("chain").module())
    i, _ = sch.get_loops("D")
    sch.compute_inline("B")
    copy = sch.cache_read("D", "C", "local")
    sch.compute_at(copy, i)
    sch.compute_at("C", i)
    with pytest.raises(rx.RelaxError, match="from memory that the loop does not write"):
        sch.pipeline(i)
