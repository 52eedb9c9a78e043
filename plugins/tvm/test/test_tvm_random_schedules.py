# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legal schedules with steps of this package never change a result, and their texts can be replayed."""

from __future__ import annotations

import random

import pytest
import relax_mlir as rx
from example_counts import draws
from gpu_schedule_steps import GPU_STEPS, random_gpu_schedule, steps_of
from hypothesis import assume, given
from hypothesis import strategies as st
from model_kernels import MODEL_KERNELS
from schedule_kernels import KERNELS, Kernel, check
from schedule_steps import SEEN_LATE, random_schedule
from scheduled_gpu import TARGET, check_kernel
from tvm_steps import ALL_STEPS, TVM_STEPS

#: The emulator distinguishes 16384 waits of a block.
_MOST_STEPS = 1 << 12


@pytest.mark.parametrize("kernel", KERNELS + MODEL_KERNELS, ids=lambda kernel: kernel.name)
@draws(40, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 12))
def test_random_schedule(kernel: Kernel, seed: int, count: int) -> None:
    sch = random_schedule(kernel.module(), seed, count, ALL_STEPS)
    again = rx.Schedule(kernel.module(), trace=sch.trace)
    assert again.show() == sch.show() and again.trace == sch.trace
    try:
        check(kernel, sch)
    except rx.RelaxError as error:
        if not any(each in str(error) for each in SEEN_LATE):
            raise


@draws(120, deadline=None)
@given(kernel=st.sampled_from(KERNELS), seed=st.integers(0, 2**32), count=st.integers(3, 16))
def test_random_schedule_of_a_gpu(kernel: Kernel, seed: int, count: int) -> None:
    sch = random_gpu_schedule(kernel.module(), seed, count, {**GPU_STEPS, **TVM_STEPS})
    assume(steps_of(sch) < _MOST_STEPS)
    try:
        executable = rx.compile(sch.mod, TARGET)
    except rx.RelaxError as refusal:
        assert str(refusal).startswith("<script>:"), "the PrimFunc's place"
        return
    check_kernel(executable, sch, kernel, seed, random.Random(seed).choice(("forward", "backward", "random")))
