# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulator in the driver's place: relax-check uses it, and a fault ends one program, not the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gpu_emulator
import numpy
import pytest
from compiling import built
from gpu_emulator.lasting import Lasting
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx
from relax_mlir import relax

PLUGIN = Path(gpu_emulator.__file__).with_name("in_place.py")


@pytest.mark.slow
def test_relax_check_runs_on_the_emulator() -> None:
    """Run the kit in a process of its own, since the emulator stays in the process."""
    given = [
        "cuda",
        f"--load-plugin={PLUGIN}",
        "-q",
        "--only=relax.nn.softmax f32 dynamic",
        "--only=relax.add f32 empty*",
    ]
    code = "import sys; from relax_mlir_proof.relax_check import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 cases: 3 right" in done.stdout


def test_a_fault_is_told_and_the_next_program_runs() -> None:
    x, device = numpy.ones(3, "float32"), Lasting(fail={"cuMemcpyHtoDAsync_v2": (3, 0)})
    with use_library(device):
        run_ = built([rx.tensor((3,))], relax.exp, target="cuda").copying()["main"]
        run_(x)
        with pytest.raises(Exception, match=r"exp.*reads 4 bytes|unwritten"):
            run_(x)  # the argument was never copied
        again = built([rx.tensor((3,))], relax.exp, target="cuda").copying()["main"]
        numpy.testing.assert_allclose(numpy.from_dlpack(again(x)), numpy.exp(x), rtol=1e-6)
