# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legal schedules never change a result, and their texts can be replayed."""

from __future__ import annotations

import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from model_kernels import MODEL_KERNELS
from schedule_kernels import KERNELS, Kernel, check
from schedule_steps import SEEN_LATE, random_schedule

import relax_mlir as rx


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_without_steps(kernel: Kernel) -> None:
    check(kernel, rx.Schedule(kernel.module()))


@pytest.mark.parametrize("kernel", KERNELS + MODEL_KERNELS, ids=lambda kernel: kernel.name)
@draws(40, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 12))
def test_random_schedule(kernel: Kernel, seed: int, count: int) -> None:
    sch = random_schedule(kernel.module(), seed, count)
    again = rx.Schedule(kernel.module(), trace=sch.trace)
    assert again.show() == sch.show() and again.trace == sch.trace
    try:
        check(kernel, sch)
    except rx.RelaxError as error:
        if not any(each in str(error) for each in SEEN_LATE):
            raise


def test_reindex_refuses_reads_outside_of_a_queue() -> None:
    """Stage a queue of one row: a copy with all pairs of iters would read rows that the queue lacks."""
    kernel = next(each for each in KERNELS if each.name == "matmul_relu")
    sch = rx.Schedule(kernel.module())
    sch.rfactor(sch.get_loops(sch.get_block("Y"))[2], -1)
    row = sch.get_loops(sch.get_block("Y"))[0]
    sch.compute_at(sch.cache_read(sch.get_block("Y"), 0, "local"), row)
    sch.pipeline(row, stages=3)
    with pytest.raises(rx.RelaxError, match="'Y_rf_local' is read outside of its bounds"):
        sch.reindex(sch.get_block("Y_epilogue"), ("read", 0))
