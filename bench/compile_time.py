# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Milliseconds from a module to a callable function: by stage, by kernel, and as a function of size.

    python bench/compile_time.py            prints the table
    python bench/compile_time.py --first    only the very first compilation of a process
    python bench/compile_time.py --json f   writes the figures too

"object" is LLVM: optimization and code generation; "load" links the object into the process. Time is the thread's own
(CPU), so that other work of the machine matters less. Each figure is the fastest of several compilations of a fresh
module in one process. Below is the cost of the very first compilation, imports included, and of its parts.

The last table counts the imported modules and the texts that Python compiles. It lists the slowest own modules by
`-X importtime`, each without the modules that it imports. test_compile_cost.py has the budgets of both counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from relax_mlir.targets.core.code_options import CodeOptions
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.llvm.objects.build import build

import relax_mlir as rx
from relax_mlir import relax

ROUNDS = 3
FIRST_ROUNDS = 8
#: Code before the measurement, and measured code.
_NUMPY, _UNIT = "import numpy", "from relax_mlir.bindings.objects import unit_object"
_FIRST = """
import relax_mlir as rx
from relax_mlir import relax
module = rx.Module()
with module.function("main", [rx.tensor(("n", 64))]) as f:
    f.returns(relax.OPERATOR(*f))
rx.compile(module, cache=CACHE)["main"](numpy.ones((3, 64), "float32"))
"""
#: States of another program: modules that all programs need are loaded.
_KEPT, _COPIED = "kept", "copied"


def first(operator: str, cache: str = "False") -> str:
    return _FIRST.replace("OPERATOR", operator).replace("CACHE", cache)


ONCE = {
    "numpy, which is not counted": ("", "import numpy"),
    "imported, compiled and called": (_NUMPY, first("exp")),
    "  after another program, on disk": (
        f"{_NUMPY}, os; os.system('rm -rf {_COPIED}; cp -r {_KEPT} {_COPIED}')",
        first("exp", repr(_COPIED)),
    ),
    "  of it MLIR's bindings": (_NUMPY, "import relax_mlir.bindings.mlir"),
    "  tvm-ffi and its loader": (_NUMPY, "import tvm_ffi_orcjit; tvm_ffi_orcjit.default_session()"),
    "  LLVM, for an empty function": (
        _UNIT,
        "unit_object(b'llvm.func @f() { llvm.return }', symbol='', opt_level=3)",
    ),
}

_COUNTED = f"""
import sys
texts = []
sys.addaudithook(lambda event, given: event == "compile" and given[1] == "<string>" and texts.append(given))
import numpy
before = len(sys.modules), len(texts)
{first("exp")}
own = sum(name.startswith("relax_mlir") for name in sys.modules)
print(own, len(sys.modules) - before[0] - own, len(texts) - before[1])
"""
#: Line of `-X importtime`: own microseconds of a module, microseconds with its imports, and its name.
_IMPORT_TIME = re.compile(r"import time: +(\d+) \| +\d+ \| +(relax_mlir\S*)")
_SLOWEST = 15


def one_exp() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 64))]) as f:
        f.returns(relax.exp(*f))
    return module


def matmul_bias_gelu() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("batch", 256)), rx.tensor((256, 512)), rx.tensor((512,))]) as f:
        x, w, b = f
        f.returns(relax.nn.gelu(relax.add(relax.matmul(x, w), b)))
    return module


def block(layers: int) -> Callable[[], rx.Module]:
    """Return layers of a transformer's feed-forward part. Each has another width, so that no kernel is shared."""

    def make() -> rx.Module:
        module = rx.Module()
        sizes = [(64 + 16 * layer, 128 + 16 * layer) for layer in range(layers)]
        infos = [rx.tensor(("n", 64))]
        for index, (width, hidden) in enumerate(sizes):
            following = sizes[index + 1][0] if index + 1 < layers else width
            infos += [rx.tensor((width, hidden)), rx.tensor((hidden, following))]
        with module.function("main", infos) as f:
            x, *weights = f
            for index in range(layers):
                x = relax.nn.softmax(relax.nn.silu(relax.matmul(x, weights[2 * index])))
                x = relax.matmul(x, weights[2 * index + 1])
            f.returns(x)
        return module

    return make


CASES: dict[str, Callable[[], rx.Module]] = {
    "exp": one_exp,
    "matmul+bias+gelu": matmul_bias_gelu,
    "1 block": block(1),
    "4 blocks": block(4),
    "16 blocks": block(16),
}


def compile_once(make: Callable[[], rx.Module]) -> dict[str, float]:
    """Return milliseconds by stage, and the number of kernels."""
    lowered, times, kernels, now = make().copy(), {}, 0, time.thread_time
    for stage in rx.stages("llvm"):
        start = now()
        stage.run(lowered, "llvm")
        times[stage.name] = now() - start
        if stage.name == "apply":
            kernels = sum("tir.prim_func" in op.operation.attributes for op in lowered.body.operations)
    start = now()
    artifact = build(lowered.owner, parse_target("llvm"), CodeOptions())
    times["object"] = now() - start
    start = now()
    rx.runtime.Executable(artifact)["main"]
    times["load"] = now() - start
    milliseconds = {name: 1e3 * seconds for name, seconds in {**times, "total": sum(times.values())}.items()}
    return {**milliseconds, "kernels": kernels, "per kernel": milliseconds["total"] / max(kernels, 1)}


def once(before: str, measured: str) -> float:
    """Return the milliseconds of a step in a process that has only executed `before`."""
    clocked = f"import time\n{before}\nstart = time.thread_time()\n{measured}\nprint(time.thread_time() - start)"
    return min(1e3 * float(python("-c", clocked).stdout) for _ in range(FIRST_ROUNDS))


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with its bytecode, as in any installation: the first round may have to write it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment)


def import_times() -> dict[str, float]:
    """Return the milliseconds of each own module that a first compilation imports, without nested imports."""
    times: dict[str, float] = {}
    command = "-X", "importtime", "-c", f"{_NUMPY}{first('exp')}"
    for _ in range(FIRST_ROUNDS):
        for microseconds, name in _IMPORT_TIME.findall(python(*command).stderr):
            times[name] = min(int(microseconds) / 1e3, times.get(name, float("inf")))
    return times


def print_imports() -> dict[str, int]:
    """Print the counts and the slowest own modules. Return the figures."""
    own, others, texts = map(int, python("-c", _COUNTED).stdout.split())
    times = import_times()
    figures = {"own modules": own, "other modules": others, "texts that Python compiles": texts}
    figures["own modules, ms"] = round(sum(times.values()))
    print()
    for name, figure in figures.items():
        print(f"{name:<32}{figure:>6}")
    for name in sorted(times, key=lambda each: -times[each])[:_SLOWEST]:
        print(f"  {times[name]:>6.1f} ms  {name.removeprefix('relax_mlir.')}")
    return figures


def all_once() -> dict[str, float]:
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            subprocess.run([sys.executable, "-c", "import numpy" + first("tanh", repr(_KEPT))], check=True)
            return {name: once(*case) for name, case in ONCE.items()}
        finally:
            os.chdir(here)


def fastest(make: Callable[[], rx.Module]) -> dict[str, float]:
    return min((compile_once(make) for _ in range(ROUNDS)), key=lambda figures: figures["total"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", action="store_true", help="only the first compilation in a process")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    figures = {} if arguments.first else _table()
    print("the first in a process, exp")
    parts = all_once()
    for name, milliseconds in parts.items():
        print(f"{name:<32}{milliseconds:>6.0f} ms")
    imports = print_imports()
    if arguments.json:
        arguments.json.write_text(json.dumps({**figures, "first": parts, "imports": imports}, indent=2) + "\n")


def _table() -> dict[str, dict[str, float]]:
    compile_once(one_exp)  # imports, once per process
    figures: dict[str, dict[str, float]] = {name: fastest(make) for name, make in CASES.items()}
    print(f"{'ms':<14}" + "".join(f"{name:>18}" for name in figures))
    for row in next(iter(figures.values())):
        print(f"{row:<14}" + "".join(f"{columns[row]:>18.1f}" for columns in figures.values()))
    print()
    return figures


if __name__ == "__main__":
    main()
