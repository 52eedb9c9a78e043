# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds from Python into a compiled function and back, for a function without work.

    python bench/call_overhead.py            prints the table
    python bench/call_overhead.py --json f   writes the figures too

The first rows call `executable["main"].packed`, tvm-ffi's function. The goal is under 0.6 for two NumPy arrays with
every check, with or without a result. "no checks" is an entry that returns at once: the cost of tvm-ffi and Python. All
other rows call `executable["main"]`, which returns arrays of the arguments' framework. Their goal is at most 1.5 more.

Time is the thread's own (CPU), so that other work of the machine matters less. Each figure is the fastest of several
rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import tvm_ffi
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.pass_manager import run_upstream
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.infos import ScalarInfo, TensorInfo, tensor
from relax_mlir.runtime import Artifact, Executable
from relax_mlir.targets.core.common_stages import TO_LLVM
from relax_mlir.targets.host.entry import add_entry
from relax_mlir.targets.host.passes.host_lower_errors import LowerErrors
from relax_mlir.targets.host.signature import Signature, single
from relax_mlir.targets.host.support import Support
from relax_mlir.targets.llvm.objects.object_file import emit_object

ROUNDS, CALLS = 7, 50_000

UNCHECKED = """
llvm.func @__tvm_ffi_unchecked(%handle: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
"""
ROWS = tensor(("n", 4))
TWO = (single(ROWS, "x"), single(ROWS, "y"))
SIGNATURES = [
    Signature("two", TWO, ()),
    Signature("one_result", TWO, (single(ROWS),)),
    Signature("eight", tuple(single(ROWS, f"x{index}") for index in range(8)), ()),
    Signature("scalars", (single(ScalarInfo("i32"), "i"), single(ScalarInfo("f32"), "x")), ()),
]


def nothing(signature: Signature) -> str:
    """Return a kernel that returns at once."""
    types: list[str] = []
    for info in [info for each in [*signature.inputs, *signature.outputs] for info in each.infos]:
        scalar = "i64" if info == ScalarInfo("i32") else "f64"
        types.append("memref<?x4xf32>" if isinstance(info, TensorInfo) else scalar)
    parameters = ", ".join(f"%a{index}: {type_}" for index, type_ in enumerate(types))
    return f"func.func @{signature.name}_impl({parameters}) {{\n  return\n}}\n"


def build() -> Executable:
    with create_context(), ir.Location.unknown():
        module = ir.Module.parse(UNCHECKED + "".join(map(nothing, SIGNATURES)))
        for signature in SIGNATURES:
            kernel = ir.SymbolTable(module.operation)[f"{signature.name}_impl"].operation
            add_entry(Support(module.operation), signature, kernel)
        LowerErrors()(module.operation)
        run_upstream(module.operation, TO_LLVM)
        code = emit_object(module)
    unchecked = {"name": "unchecked", "inputs": [], "outputs": []}
    entries = (unchecked, *(signature.describe() for signature in SIGNATURES))
    return Executable(Artifact(entries, (memoryview(code),)))


def microseconds(function: Callable[..., Any], arguments: tuple[Any, ...], calls: int = CALLS) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(calls):
            function(*arguments)
        best = min(best, time.thread_time() - start)
    return best / calls * 1e6


def measure() -> dict[str, float]:
    executable = build()
    array = numpy.ones((8, 4), numpy.float32)
    ours = tvm_ffi.from_dlpack(array)
    raw = {name: executable[name].packed for name in executable}
    return {**_packed(raw, array, ours), **_convenient(executable, array, ours)}


def _packed(executable: Mapping[str, Any], array: Any, ours: Any) -> dict[str, float]:
    return {
        "2 numpy arrays, no checks": microseconds(executable["unchecked"], (array, array)),
        "2 numpy arrays": microseconds(executable["two"], (array, array)),
        "2 numpy arrays, 1 result": microseconds(executable["one_result"], (array, array)),
        "8 numpy arrays": microseconds(executable["eight"], (array,) * 8),
        "2 tvm-ffi tensors, no checks": microseconds(executable["unchecked"], (ours, ours)),
        "2 tvm-ffi tensors": microseconds(executable["two"], (ours, ours)),
        "2 tvm-ffi tensors, 1 result": microseconds(executable["one_result"], (ours, ours)),
        "an int and a float": microseconds(executable["scalars"], (1, 2.0)),
    }


def _convenient(executable: Executable, array: Any, ours: Any) -> dict[str, float]:
    one, read_only = executable["one_result"], array.copy()
    read_only.flags.writeable = False
    return {
        "called: 2 numpy arrays": microseconds(executable["two"], (array, array)),
        "called: 2 numpy arrays, 1 result": microseconds(one, (array, array)),
        "called: 8 numpy arrays": microseconds(executable["eight"], (array,) * 8),
        "called: 2 tvm-ffi tensors, 1 result": microseconds(one, (ours, ours)),
        "called: an int and a float": microseconds(executable["scalars"], (1, 2.0)),
        "called: by names, 1 result": microseconds(lambda x, y: one(x=x, y=y), (array, array)),
        "called: one array read-only, 1 result": microseconds(one, (array, read_only), CALLS // 20),
        "called: one array copied, 1 result": microseconds(one, (array, array.T.copy().T), CALLS // 20),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Overhead of calls into compiled functions.")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    figures = measure()
    for name, value in figures.items():
        print(f"{name:<40} {value:6.3f} us")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
