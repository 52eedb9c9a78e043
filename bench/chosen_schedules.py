# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels that run by the steps equivalent to plans, against programs that run by the plans themselves.

    python bench/chosen_schedules.py build/models/*.onnx

For each model: the number of kernels with steps, the ratio of the times of calls (both programs in turns, one thread,
the fastest of each), the ratio of compile times, and the largest difference of results. Below 1 steps are faster.
"""

from __future__ import annotations

import os

os.environ.setdefault("RELAX_NUM_THREADS", "1")

import argparse
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy
import onnx

import relax_mlir as rx

SECONDS = 6.0
#: Value of dynamic sizes.
SIZE = 8


def inputs_of(path: str) -> list[numpy.ndarray]:
    model, random = onnx.load_model(path, load_external_data=False), numpy.random.default_rng(0)
    constants = {each.name for each in model.graph.initializer}
    made = []
    for each in model.graph.input:
        if each.name in constants:
            continue
        shape = [dim.dim_value or SIZE for dim in each.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        is_float = numpy.issubdtype(dtype, numpy.floating)
        made.append((random.standard_normal(shape) if is_float else random.integers(0, 2, shape)).astype(dtype))
    return made


def compiled(module: rx.Module, **options: Any) -> tuple[rx.Executable, float]:
    begin = time.perf_counter()
    program = rx.compile(module, cache=False, **options)
    return program, time.perf_counter() - begin


def results(given: Any) -> list[numpy.ndarray]:
    return [numpy.from_dlpack(each) for each in (given if isinstance(given, tuple) else (given,))]


def compare(path: str) -> str:
    module, arguments = rx.from_onnx(path), inputs_of(path)
    text = rx.schedules.chosen(module)
    head, _, without = text.partition("# Without steps:")
    kernels = [head.count("\ndef "), without.count("\n#   ")]
    compiled(module)  # both then find imported modules and constants in the same warm state
    planned, of_plans = compiled(module)
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        scheduled, of_steps = compiled(module, schedules=file.name)
    pairs = zip(results(planned["main"](*arguments)), results(scheduled["main"](*arguments)), strict=True)
    difference = max(float(abs(one.astype("float64") - other).max()) for one, other in pairs)
    best, end = [float("inf")] * 2, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for number, program in enumerate((planned, scheduled)):
            begin = time.perf_counter()
            program["main"](*arguments)
            best[number] = min(best[number], time.perf_counter() - begin)
    name = os.path.basename(path).removesuffix(".onnx")
    counts = f"{kernels[0]:>4} of {sum(kernels):<4}"
    return f"{name:<24}{counts}{best[1] / best[0]:>8.2f}{of_steps / of_plans:>10.2f}{difference:>12.1e}"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    arguments = parser.parse_args(given)
    print(f"{'model':<24}{'kernels':<11}{'call':>8}{'compile':>10}{'difference':>12}")
    for path in arguments.paths:
        print(compare(path), flush=True)


if __name__ == "__main__":
    main()
