# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules of GPUs on real drivers compute what numpy computes.

A schedule that cuda takes is refused only for a device's sizes, or for an element type that the device lacks.
"""

from __future__ import annotations

import re

import pytest
import real_devices
import real_webgpu
from example_counts import draws
from gpu_schedule_steps import random_gpu_schedule
from hypothesis import given
from hypothesis import strategies as st
from schedule_kernels import KERNELS, Kernel, agree
from scheduled_gpu import TARGET

import relax_mlir as rx

_OF_THE_DEVICE = re.compile(
    r"has blocks of \d+ threads, \d+ at most|needs \d+ bytes of shared memory, a block may have"
    r"|works with \w+, which target '.*' has not"
)
#: The place of a PrimFunc, or of one of its buffers.
_PLACE = re.compile(r"(\"\w+\" at )?<script>:")


def target_of(kind: str) -> str:
    if kind == "webgpu":
        real_webgpu.skip_without()
        return kind
    real_devices.skip_without(kind)
    return real_devices.target(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*real_devices.KINDS, "webgpu"])
@draws(40, deadline=None)
@given(kernel=st.sampled_from(KERNELS), seed=st.integers(0, 2**32), count=st.integers(3, 16))
def test_random_schedule(kind: str, kernel: Kernel, seed: int, count: int) -> None:
    target = target_of(kind)
    sch = random_gpu_schedule(kernel.module(), seed, count)
    try:
        executable = rx.compile(sch.mod, target)
    except rx.RelaxError as refusal:
        assert _PLACE.match(str(refusal)), "the PrimFunc's place"
        if not _OF_THE_DEVICE.search(str(refusal)):
            with pytest.raises(rx.RelaxError):
                rx.compile(sch.mod, TARGET)
        return
    agree(kernel, executable.copying()["main"], seed, sch.show())
