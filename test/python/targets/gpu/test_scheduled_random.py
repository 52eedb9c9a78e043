# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules for GPUs compute numpy's results, or are refused with a message: no races, no deadlocks."""

from __future__ import annotations

import random

from example_counts import draws
from gpu_schedule_steps import random_gpu_schedule, steps_of
from hypothesis import assume, example, given
from hypothesis import strategies as st
from schedule_kernels import KERNELS, Kernel, kernel
from scheduled_gpu import TARGET, check_kernel

import relax_mlir as rx

#: The emulator distinguishes 16384 waits of a block.
_MOST_STEPS = 1 << 12


@draws(240, deadline=None)
@example(kernel=kernel("matmul_relu"), seed=16, count=16)  # copies of elements that other threads compute
@example(kernel=kernel("overlapping"), seed=500254, count=16)  # threads that share elements within conditions
@given(kernel=st.sampled_from(KERNELS), seed=st.integers(0, 2**32), count=st.integers(3, 16))
def test_random_schedule(kernel: Kernel, seed: int, count: int) -> None:
    sch = random_gpu_schedule(kernel.module(), seed, count)
    assume(steps_of(sch) < _MOST_STEPS)
    try:
        executable = rx.compile(sch.mod, TARGET)
    except rx.RelaxError as refusal:
        assert str(refusal).startswith("<script>:"), "the PrimFunc's place"
        return
    check_kernel(executable, sch, kernel, seed, random.Random(seed).choice(("forward", "backward", "random")))
