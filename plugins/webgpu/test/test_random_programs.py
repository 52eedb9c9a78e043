# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules and random graphs on a device, against numpy and the fuzzer's oracles."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from random_device_schedules import check_random_schedule
from real_webgpu import skip_without
from schedule_kernels import KERNELS, Kernel

pytestmark = pytest.mark.slow

FUZZER = Path(__file__).resolve().parents[3] / "test" / "fuzz" / "differential.py"


@pytest.fixture(autouse=True, scope="module")
def _device() -> None:
    skip_without()


@draws(40, deadline=None)
@given(kernel=st.sampled_from(KERNELS), seed=st.integers(0, 2**32), count=st.integers(3, 16))
def test_random_schedule(kernel: Kernel, seed: int, count: int) -> None:
    check_random_schedule("webgpu", kernel, seed, count)


def test_random_graphs_run_on_a_device() -> None:
    options = ["--kind", "relax", "--target", "webgpu", "--seed", "71001", "--cases", "8", "--jobs", "2"]
    done = subprocess.run([sys.executable, str(FUZZER), *options], capture_output=True, text=True, timeout=600)
    assert re.match(r"seed 71001: 8 graphs, [78] agree, \d undefined, 0 failed", done.stdout), done.stdout + done.stderr
