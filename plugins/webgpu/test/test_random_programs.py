# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules and random graphs on a device, against numpy and the fuzzer's oracles."""

from __future__ import annotations

import re
import subprocess
import sys
from math import prod
from pathlib import Path

import pytest
from example_counts import draws
from gpu_schedule_steps import random_gpu_schedule
from hypothesis import assume, given
from hypothesis import strategies as st
from random_device_schedules import check_random_schedule
from real_webgpu import skip_without
from relax_mlir_webgpu.runtime.device import ends_long_loops, open_device
from schedule_kernels import KERNELS, Kernel

pytestmark = pytest.mark.slow

FUZZER = Path(__file__).resolve().parents[3] / "test" / "fuzz" / "differential.py"


@pytest.fixture(autouse=True, scope="module")
def _device() -> None:
    skip_without()


def _iterations(text: str) -> int:
    """Return the number of iterations of all serial loops of a script."""
    total, open_loops = 0, [(-1, 1)]
    for line in text.splitlines():
        loop = re.match(r"( *)for .* in (?:range|T\.grid|T\.unroll|T\.serial)\((.*)\):", line)
        if loop:
            open_loops = [outer for outer in open_loops if outer[0] < len(loop[1])]
            count = open_loops[-1][1] * prod(map(int, re.findall(r"\d+", loop[2])))
            open_loops.append((len(loop[1]), count))
            total += count
    return total


@draws(40, deadline=None)
@given(kernel=st.sampled_from(KERNELS), seed=st.integers(0, 2**32), count=st.integers(3, 16))
def test_random_schedule(kernel: Kernel, seed: int, count: int) -> None:
    text = random_gpu_schedule(kernel.module(), seed, count).show()
    assume(not ends_long_loops(open_device().adapter.info) or _iterations(text) < 65535)
    check_random_schedule("webgpu", kernel, seed, count)


def test_random_graphs_run_on_a_device() -> None:
    options = ["--kind", "relax", "--target", "webgpu", "--seed", "71001", "--cases", "8", "--jobs", "2"]
    done = subprocess.run([sys.executable, str(FUZZER), *options], capture_output=True, text=True, timeout=600)
    assert re.match(r"seed 71001: 8 graphs, [78] agree, \d undefined, 0 failed", done.stdout), done.stdout + done.stderr
