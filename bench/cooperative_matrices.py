# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products on the first Vulkan device with its cooperative matrices and without: milliseconds per call.

python bench/cooperative_matrices.py
"""

from __future__ import annotations

import re
import statistics
import time

import numpy
from relax_mlir_spirv.vulkan_runtime.driver import driver

import relax_mlir as rx

_SIZE, _TURNS = 256, 15


def main() -> None:
    device = driver().device(0)
    if not device.capabilities.matrices:
        print(f"{device} has no cooperative matrices")
        return
    without = re.sub(r"matrices=\S+?(?=[ }])", "version=1.3", device.target)
    print(f"{device}: {_SIZE} x {_SIZE} x {_SIZE}, milliseconds, the median of {_TURNS} in turns")
    for dtype, total in (("float16", "float32"), ("int8", "int32"), ("uint8", "int32")):
        module = rx.Module()
        with module.function("main", [rx.tensor((_SIZE, _SIZE), dtype)] * 2) as f:
            f.returns(rx.relax.matmul(*f, out_dtype=total))
        programs = [rx.compile(module, target) for target in (without, device.target)]
        x = numpy.random.default_rng(0).integers(0, 100, (_SIZE, _SIZE)).astype(dtype)
        given = [program.copying().upload(x) for program in programs]
        found: list[list[float]] = [[], []]
        for turn in range(_TURNS + 1):
            for times, program, each in zip(found, programs, given, strict=True):
                before = time.perf_counter()
                program["main"](each, each)
                program.synchronize()
                # In the first call the driver compiles the code.
                times += [1e3 * (time.perf_counter() - before)] if turn else []
        plain, matrices = map(statistics.median, found)
        print(f"  {dtype:8} without {plain:8.2f}, by matrices {matrices:8.2f}, ratio {plain / matrices:.2f}")


if __name__ == "__main__":
    main()
