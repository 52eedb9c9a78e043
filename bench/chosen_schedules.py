# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels that run by the steps equivalent to plans, against programs that run by the plans themselves.

    python bench/chosen_schedules.py build/models/*.onnx
    python bench/chosen_schedules.py --target "cuda{arch=sm_80}" build/models/*.onnx

For each model: the number of kernels with steps, the ratio of the times of calls (both programs in turns, one thread,
the fastest of each), the ratio of compile times, and the largest difference of results. Below 1 steps are faster.

For GPUs no device is needed. The rows have figures of NVIDIA's assembler for the kernels of both, plans first:
launches, maximum registers and shared bytes, spills, PTX instructions. A summary over all models compares each pair of
kernels by the form of the plan's kernel.
"""

from __future__ import annotations

import os

os.environ.setdefault("RELAX_NUM_THREADS", "1")

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import onnx
from gpu_code import Code, code_of

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


# ---- code for GPUs ----


class Taken(NamedTuple):
    """Resources of a kernel."""

    registers: int
    shared: int
    spills: int
    instructions: int


def taken_by(code: Code) -> dict[str, Taken]:
    counts = instructions_of(code.ptx)
    return {name: Taken(each.registers, each.shared, each.spills, counts[name]) for name, each in code.taken.items()}


def instructions_of(ptx: str) -> dict[str, int]:
    """Return the number of instructions in each kernel's text."""
    found: dict[str, int] = {}
    for part in re.split(r"\.entry ", ptx)[1:]:
        name, body = part.split("(", 1)
        lines = (line.strip() for line in body.splitlines())
        found[name.strip()] = sum(line.endswith(";") and not line.startswith(".") for line in lines)
    return found


def compare_code(path: str, target: str, pairs: dict[str, list[tuple[Taken, Taken]]]) -> str:
    """Return a model's row, and add the kernels of both to `pairs`, by the forms of the plan's kernels."""
    arch, module, name = target.partition("arch=")[2].rstrip("}"), rx.from_onnx(path), Path(path).stem
    text = rx.schedules.chosen(module, target)
    head, _, without = text.partition("# Without steps:")
    kernels = [head.count("\ndef "), without.count("\n#   ")]
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        planned, scheduled = code_of(name, module, arch), code_of(name, module, arch, file.name)
    one, other = taken_by(planned), taken_by(scheduled)
    has_steps = set(re.findall(r"^def (\w+)", head, re.MULTILINE))
    for kernel in one.keys() & other.keys():
        if kernel in has_steps and all(f"{kernel}_1" not in each for each in (one, other)):
            pairs.setdefault(planned.kernels[kernel].form, []).append((one[kernel], other[kernel]))

    def both(value: Callable[[Code, dict[str, Taken]], object]) -> str:
        return f"{value(planned, one)}/{value(scheduled, other)}"

    most = [both(lambda _, found, n=n: max((each[n] for each in found.values()), default=0)) for n in range(2)]
    sums = [both(lambda _, found, n=n: sum(each[n] for each in found.values())) for n in (2, 3)]
    counts = f"{kernels[0]:>4} of {sum(kernels):<4}"
    return (
        f"{name:<20}{counts}{both(lambda code, _: code.launches):>11}{most[0]:>11}{most[1]:>14}{sums[0]:>9}"
        f"{sums[1]:>15}{scheduled.compiled / planned.compiled:>9.2f}{scheduled.refused}"
    )


def rows_of_forms(pairs: dict[str, list[tuple[Taken, Taken]]]) -> Iterator[str]:
    """Yield for each form the number of kernels, and the average resources of steps relative to the form's."""
    yield f"\n{'form':<14}{'kernels':>8}{'registers':>11}{'shared':>9}{'instructions':>14}"
    for form, found in sorted(pairs.items()):
        ratios = [sum(other[n] for _, other in found) / max(sum(one[n] for one, _ in found), 1) for n in (0, 1, 3)]
        yield f"{form:<14}{len(found):>8}{ratios[0]:>11.2f}{ratios[1]:>9.2f}{ratios[2]:>14.2f}"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--target", default="llvm")
    arguments = parser.parse_args(given)
    if arguments.target == "llvm":
        print(f"{'model':<24}{'kernels':<11}{'call':>8}{'compile':>10}{'difference':>12}")
        for path in arguments.paths:
            print(compare(path), flush=True)
        return
    pairs: dict[str, list[tuple[Taken, Taken]]] = {}
    print(f"{'model':<20}{'kernels':<12}{'launches':>11}{'registers':>11}{'shared':>14}{'spills':>9}{'instructions':>15}"
          f"{'compile':>9}")  # fmt: skip
    for path in arguments.paths:
        print(compare_code(path, arguments.target, pairs), flush=True)
    for line in rows_of_forms(pairs):
        print(line)


if __name__ == "__main__":
    main()
