# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with divided indices, in the form of te and TVM's script, with and without `tir-simplify-indices`.

    python bench/te_operators.py

Figures are milliseconds of processor time per call on one thread, in turns in one run, the fastest call of each. Sizes
are from TVM's te_workload with a batch of one. Data are padded before the call.
"""

from __future__ import annotations

import os

os.environ["RELAX_NUM_THREADS"] = "1"

import sys
import time
import warnings
from pathlib import Path

import numpy

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test" / "python" / "helpers"))
from te_workloads import Convolution, Transposed

HEAD = "from relax_mlir.script import tir as T\n"
PASS = "tir-simplify-indices"
SECONDS = 6.0
OPERATORS = {
    "C1D": Convolution(1, (256,), 64, 128, 3, 2, 1),
    "C2D": Convolution(1, (224, 224), 3, 64, 7, 2, 3),
    "C3D": Convolution(1, (16, 224, 224), 3, 64, 7, 2, 3),
    "DIL": Convolution(1, (224, 224), 3, 64, 7, 2, 3, 2),
    "GRP": Convolution(1, (56, 56), 64, 128, 3, 2, 1, 1, 4),
    "T2D": Transposed(1, 4, 4, 512, 256, 4, 2, 1),
}


def without_pass() -> rx.Stages:
    """Return the target's stages without the pass."""
    stages = rx.stages("llvm")
    return stages.replace("plan", [each for each in stages["plan"].passes if PASS not in str(each)])


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def main() -> None:
    print(processor())
    warnings.simplefilter("ignore", RuntimeWarning)  # scalar loops are the baseline
    print(f"{'operator':<10}{'without':>10}{'with':>10}   compiled in")
    for name in sys.argv[1:] or OPERATORS:
        sizes = OPERATORS[name]
        module = rx.Module.from_script(HEAD + sizes.script())
        random = numpy.random.default_rng(0)
        shapes = (sizes.padded_shape, sizes.weight_shape)
        arguments = [random.standard_normal(shape).astype("float32") for shape in shapes]
        calls, compiled = [], []
        for pipeline in (without_pass(), None):
            start = time.process_time()
            calls.append(rx.compile(module, pipeline=pipeline, cache=False)["main"])
            compiled.append(time.process_time() - start)
        best, end = [float("inf")] * 2, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            for place, call in enumerate(calls):
                start = time.process_time()
                call(*arguments)
                best[place] = min(best[place], time.process_time() - start)
        times = "".join(f"{each * 1e3:>10.3f}" for each in best)
        print(f"{name:<10}{times}   {compiled[0]:.2f} s, {compiled[1]:.2f} s", flush=True)


if __name__ == "__main__":
    main()
