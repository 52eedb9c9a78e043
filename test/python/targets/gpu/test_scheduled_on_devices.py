# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules of GPUs on real drivers, against numpy."""

from __future__ import annotations

import pytest
import real_devices
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from random_device_schedules import check_random_schedule
from schedule_kernels import KERNELS, Kernel


@pytest.mark.slow
@pytest.mark.parametrize("kind", real_devices.KINDS)
@draws(40, deadline=None)
@given(kernel=st.sampled_from(KERNELS), seed=st.integers(0, 2**32), count=st.integers(3, 16))
def test_random_schedule(kind: str, kernel: Kernel, seed: int, count: int) -> None:
    real_devices.skip_without(kind)
    check_random_schedule(real_devices.target(kind), kernel, seed, count)
