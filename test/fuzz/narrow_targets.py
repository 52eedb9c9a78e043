# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the sweep of narrow kernels on each target: arrays next to inaccessible pages in, arrays out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import emulated_instructions
import numpy
import on_target
from emulated_gpu import run_emulated
from relax_mlir.runtime import guard_pages

import relax_mlir as rx

#: Function that calls the function of a number with arrays and a count of threads, and returns its results.
Call = Callable[[int, Sequence[Any], int], list[Any]]
#: CPUs that are emulated, with their architecture: their vectors and loops run on this machine.
EMULATED = {"cascadelake": "x86_64", "sapphirerapids": "x86_64", "neoverse-n1": "aarch64", "neoverse-v1": "aarch64"}


def compiled(module: rx.Module, target: str, level: int) -> Call:
    """Return a call of the compiled module. Raise RelaxError for a refusal."""
    name, _, options = target.rstrip("}").partition("{")
    cpu = options.removeprefix("cpu=")
    if name == "llvm":
        # Constants end before inaccessible pages, too.
        with guard_pages.guarded_results():
            if cpu in EMULATED:
                text = f"llvm{{triple={EMULATED[cpu]}-linux-gnu cpu={cpu} cores=2}}"
                program, _ = emulated_instructions.compiled(module, text, level)
                return _on_llvm(program)
            return _on_llvm(rx.compile(module, target, opt_level=level, jobs=1, cache=False))
    if name == "c":
        program = on_target.guarded_c_program(module, level)
        return lambda number, arrays, threads: listed(program(*arrays, function=f"f{number}"))
    if name == "cuda":
        executable = rx.compile(module, "cuda", opt_level=level, jobs=1, cache=False)
        return lambda number, arrays, threads: listed(run_emulated(executable, *arrays, function=f"f{number}"))
    copying = rx.compile(module, on_target.device(name), opt_level=level, jobs=1, cache=False).copying()
    return lambda number, arrays, threads: listed(copying[f"f{number}"](*arrays))


def _on_llvm(executable: rx.Executable) -> Call:
    def call(number: int, arrays: Sequence[Any], threads: int) -> list[Any]:
        executable.threads = threads
        tensors = [rx.runtime.tensor(guard_pages.guarded(each, at_end=number % 4 != 3)) for each in arrays]
        with guard_pages.guarded_results():
            results = executable[f"f{number}"](*tensors)
        return [numpy.array(each) for each in listed(results)]

    return call


def listed(results: Any) -> list[Any]:
    """Return one result, or several, as arrays of NumPy."""
    several = results if isinstance(results, (list, tuple)) else [results]
    return [numpy.asarray(rx.runtime.to_numpy(each)) for each in several]


@cache
def missing(target: str) -> str:
    """Return the reason why programs for a target cannot run here, or an empty text."""
    name = target.partition("{")[0]
    return on_target.TARGETS[name].lacks() if name in on_target.TARGETS else ""
