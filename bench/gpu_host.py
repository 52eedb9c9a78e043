# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host microseconds per call of a program for a GPU, and per launch in it, with a driver that does nothing.

The same is measured for a recorded CUDA graph (`graphs=True`): one launch, and copies of arguments and results.

    python bench/gpu_host.py            prints the table
    python bench/gpu_host.py --json f   writes the figures too

The driver's functions are native ones that return at once, so that no device is needed. The time of a real
cuLaunchKernel, some microseconds, is additional. The goal is under 5 us of ours per launch. Time is the thread's own
(CPU). Each figure is the fastest of several rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import time
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx
from relax_mlir import relax

ROUNDS, CALLS = 7, 300
#: Native functions that a program calls at run time, with memory at an address that is never dereferenced.
NATIVE = """
define i32 @nothing() { ret i32 0 }
define i32 @no(ptr %stream, ptr %out) { store i32 0, ptr %out ret i32 0 }
define i32 @allocate(ptr %out) { store ptr inttoptr (i64 1048576 to ptr), ptr %out ret i32 0 }
"""
_P, _I = ctypes.c_void_p, ctypes.c_int


def _native() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(NATIVE), machine)
    engine.finalize_object()
    return engine


class IdleDriver:
    """Driver for `use_library` with one device that does nothing."""

    def __init__(self) -> None:
        self._engine = _native()
        self._nothing = ctypes.CFUNCTYPE(_I)(self._engine.get_function_address("nothing"))
        self.cuMemAllocAsync = ctypes.CFUNCTYPE(_I)(self._engine.get_function_address("allocate"))
        self.cuStreamIsCapturing = ctypes.CFUNCTYPE(_I)(self._engine.get_function_address("no"))
        self._memory = ctypes.create_string_buffer(1 << 16)
        values = {"cuDeviceGetCount": 1, "cuModuleGetFunction": 1, "cuModuleLoadDataEx": 1, "cuDeviceGet": 0}
        values |= {"cuStreamCreate": 16, "cuGraphInstantiateWithFlags": 1, "cuEventCreate": 1}
        self._functions = {name: self._writing(value) for name, value in values.items()}
        address = ctypes.addressof(self._memory)
        for name in ("cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2"):
            self._functions[name] = self._writing(address)
        self._functions["cuDeviceGetAttribute"] = ctypes.CFUNCTYPE(_I, _P, _I, _I)(_attribute)

    def _writing(self, value: int) -> Any:
        def write(out: int, *_: Any) -> int:
            ctypes.c_int64.from_address(out).value = value
            return 0

        return ctypes.CFUNCTYPE(_I, _P)(write)

    def __getattr__(self, name: str) -> Any:
        return self._functions.get(name, self._nothing)


def _attribute(out: int, which: int, device: int) -> int:
    ctypes.c_int.from_address(out).value = {75: 8, 76: 0, 115: 1}.get(which, 1 << 16)
    return 0


def program(launches: int) -> rx.Executable:
    """Return a program of sequential products with one launch each."""
    module = rx.Module()
    with module.function("main", [rx.tensor((64, 64))]) as f:
        (value,) = f
        for _ in range(launches):
            value = relax.matmul(value, value)
        f.returns(value)
    return rx.compile(module, target="cuda")


def seconds_of_a_call(launches: int, graphs: bool = False) -> float:
    run = rx.runtime.Executable(program(launches)._artifact, graphs=graphs)
    copying: Any = run.copying()["main"].packed
    (given,), _ = copying._upload([numpy.zeros((64, 64), "float32")])
    packed = run["main"].packed
    packed(given)
    times = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(CALLS):
            packed(given)
        times.append((time.thread_time() - start) / CALLS)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with use_library(IdleDriver()):
        seconds = {count: seconds_of_a_call(count) for count in (1, 10, 100, 300)}
        by_graph = {count: seconds_of_a_call(count, graphs=True) for count in seconds}
    each = (seconds[300] - seconds[100]) / 200
    for count, taken in seconds.items():
        print(f"a call with {count:3d} launches {taken * 1e6:10.3f} us, as a graph {by_graph[count] * 1e6:10.3f} us")
    print(f"each launch            {each * 1e6:12.3f} us")
    if arguments.json:
        arguments.json.write_text(json.dumps({"calls": seconds, "graphs": by_graph, "launch": each}))


if __name__ == "__main__":
    main()
