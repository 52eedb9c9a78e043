# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callable form of a graph's module on each target: arrays next to guard pages in, arrays out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import c_programs
import emulated_gpu
import numpy
import real_devices
from drawing import SIZES
from graphs import Graph
from relax_mlir.runtime import guard_pages
from relax_mlir.support.external_runtime import find_runtime
from relax_mlir_proof.testing import isolated

import relax_mlir as rx

_UNKNOWN_SIZES = "the kernel's sizes must be known before the model runs"

#: Function that calls a compiled graph: all of its results for all of its inputs.
Call = Callable[[Sequence[Any]], list[Any]]


class OnTarget(NamedTuple):
    """Programs of a target. `compile` raises RelaxError for a refusal, and any exception for a bug."""

    compile: Callable[[rx.Module, Graph, int], Call]
    #: The same as text, for a program that shows a case: `main`, of `module` and `{level}`.
    script: str
    #: How the script passes an array.
    argument: str = "rx.runtime.tensor({})"
    #: Texts of refusals of valid graphs.
    known_limits: tuple[str, ...] = (_UNKNOWN_SIZES,)
    #: Missing requirements on this machine. Another process checks drivers, which do not survive a fork.
    lacks: Callable[[], str] = str


# ---- llvm ----


def _on_llvm(module: rx.Module, graph: Graph, level: int) -> Call:
    executable = rx.compile(module, opt_level=level, cache=False, jobs=1)
    main, given = executable["main"], _taken(executable, graph)

    def call(arrays: Sequence[Any]) -> list[Any]:
        tensors = [rx.runtime.tensor(each) for name, each in zip(graph.inputs, arrays, strict=True) if name in given]
        with guard_pages.guarded_results():
            results = main(*tensors)
        return [rx.runtime.to_numpy(each) for each in ([results] if len(graph.outputs) == 1 else results)]

    return call


def _taken(executable: rx.Executable, graph: Graph) -> set[str]:
    """Return the inputs that a call passes, without write-only buffers of a script."""
    names = [each["name"] for each in executable.signature("main")["inputs"]]
    return set(graph.inputs) if len(names) == len(graph.inputs) else set(names)


# ---- c ----


class _Guarded(c_programs.CProgram):
    """Program with results alternately before and after a forbidden page, filled with an unlikely value."""

    _numbers = itertools.count()

    def result(self, shape: Sequence[int], dtype: Any) -> Any:
        count = int(numpy.prod(shape, dtype=object))
        filled = numpy.full(count * dtype.itemsize, 0xA5, "uint8").view(dtype).reshape(shape)
        return guard_pages.guarded(filled, at_end=next(self._numbers) % 3 != 2)


_VARIABLE = re.compile(r"\b(?!(?:min|max)\b)[A-Za-z_]\w*")


def _on_c(module: rx.Module, graph: Graph, level: int) -> Call:
    """Compile for C. At -O0 memory is the system's, and otherwise the program's: then sizes have bounds."""
    symbols = {each for info in graph.inputs.values() for size in info.sizes for each in _VARIABLE.findall(str(size))}
    bounds = dict.fromkeys(sorted(symbols), f"0..{max(SIZES)}") if level else {}
    program = guarded_c_program(module, level, bounds)
    return lambda arrays: list(program(*arrays))


def guarded_c_program(module: rx.Module, level: int, bounds: Mapping[str, str] | None = None) -> c_programs.CProgram:
    """Compile for C. Without bounds of the symbols memory is the system's."""
    target = "c{memory=heap}" if bounds is None or not level else "c"
    return _Guarded(module, target, opt_level=level, bind=bounds)


# ---- cuda ----


def _on_cuda(module: rx.Module, graph: Graph, level: int) -> Call:
    """Run on an emulated device, which raises errors of kernels and host code even if results are right."""
    executable = rx.compile(module, "cuda", opt_level=level, cache=False, jobs=1)

    def call(arrays: Sequence[Any]) -> list[Any]:
        results = emulated_gpu.run_emulated(executable, *arrays)
        return [results] if len(graph.outputs) == 1 else list(results)

    return call


# ---- devices ----


def _why_no_webgpu() -> str:
    """Return the reason why programs for WebGPU cannot run, or an empty text. A plug-in runs them."""
    return find_runtime("webgpu")().requires(memoryview(b""))


def device(kind: str) -> str:
    """Return the target of the first device of a kind."""
    return kind if kind == "webgpu" else real_devices.target(kind)


def _on_device(kind: str) -> OnTarget:
    """Run on the first device of a kind, by a real driver."""

    def compiled(module: rx.Module, graph: Graph, level: int) -> Call:
        main = rx.compile(module, device(kind), opt_level=level, cache=False, jobs=1).copying()["main"]

        def call(arrays: Sequence[Any]) -> list[Any]:
            # the second call is recorded, and the third one replays the record
            for _ in range(2 if kind == "vulkan" else 0):
                main(*arrays)
            results = main(*arrays)
            return [rx.runtime.to_numpy(each) for each in ([results] if len(graph.outputs) == 1 else results)]

        return call

    def lacks() -> str:
        ask = _why_no_webgpu if kind == "webgpu" else partial(real_devices.why_none, kind)
        return str(isolated.alone(ask, 60.0, lambda cause, _: f"a driver that works: {cause}"))

    name = "'webgpu'" if kind == "webgpu" else f"real_devices.target('{kind}')"
    making = f"main = rx.compile(module, {name}, opt_level={{level}}, cache=False).copying()['main']"
    return OnTarget(compiled, f"import real_devices  # test/python/helpers\n{making}", argument="{}", lacks=lacks)


TARGETS = {
    "llvm": OnTarget(_on_llvm, "main = rx.compile(module, opt_level={level}, cache=False)['main']"),
    "c": OnTarget(
        _on_c,
        "from c_programs import CProgram  # test/python/helpers\n"
        "main = CProgram(module, 'c{{memory=heap}}', opt_level={level})",
        argument="{}",
        known_limits=(_UNKNOWN_SIZES, "depends on the data", "so it cannot be in static memory"),
        lacks=lambda: "" if c_programs.COMPILER else "a compiler of C ($CC, cc)",
    ),
    "cuda": OnTarget(
        _on_cuda,
        "from emulated_gpu import run_emulated  # test/python/helpers\n"
        "executable = rx.compile(module, 'cuda', opt_level={level}, cache=False)\n"
        "main = lambda *arrays: run_emulated(executable, *arrays)",
        argument="{}",
    ),
    **{kind: _on_device(kind) for kind in (*real_devices.KINDS, "webgpu")},
}
