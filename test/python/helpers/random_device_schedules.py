# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check of random schedules on real devices, against numpy.

A schedule that cuda accepts is refused only for a device's sizes, or for an element type that the device lacks.
"""

from __future__ import annotations

import re

import pytest
from gpu_schedule_steps import random_gpu_schedule
from schedule_kernels import Kernel, agree
from scheduled_gpu import TARGET

import relax_mlir as rx

_OF_THE_DEVICE = re.compile(
    r"has blocks of \d+ threads, \d+ at most|needs \d+ bytes of shared memory, a block may have"
    r"|uses \w+, which target '.*' lacks"
)
#: The place of a PrimFunc, or of one of its buffers.
_PLACE = re.compile(r"(\"\w+\" at )?<script>:")


def check_random_schedule(target: str, kernel: Kernel, seed: int, count: int) -> None:
    """Compile a kernel with a random schedule of `count` steps for a target, and run it on the target's device."""
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
