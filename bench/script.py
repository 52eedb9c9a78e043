# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds per operation of reading and printing scripts, against MLIR's own text of the same module.

    python bench/script.py            prints the table
    python bench/script.py --json f   writes the figures too

The modules are a graph of 10,000 operators, 300 tensor programs of a few operations each, and a small network with
loops that are already tiles and vectors. "TVMScript" is the form that people write. "IR as a script" is the output of
--print-script for the same module. "Python's parser" is the time of ast.parse on each. Time is the thread's own (CPU).
Each figure is the fastest of several rounds.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path

import relax_mlir as rx
from relax_mlir import relax

HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n"
ROUNDS = 5


def graph(count: int) -> str:
    lines, value = [], "x"
    for index in range(count // 3):
        lines.append(f"        a{index} = R.add({value}, y)")
        lines.append(f"        b{index} = R.nn.relu(a{index})")
        value = f"c{index}"
        lines.append(f"        {value} = R.nn.leakyrelu(b{index}, alpha=0.2)")
    head = '    @R.function\n    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "float32")):\n'
    return f"{HEAD}{head}" + "\n".join([*lines, f"        return {value}"]) + "\n"


def programs(count: int) -> str:
    body = """
    @T.prim_func
    def f{0}(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, j in T.grid(8, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj] * T.float32(2) + A[vi, vj], T.float32(0)) - T.exp(A[vi, 0])
"""
    return HEAD + "".join(body.format(index) for index in range(count))


def fastest(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        gc.collect()
        gc.disable()  # as in the reader: a syntax tree is many objects without cycles
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
        gc.enable()
    return best


def operations_in(module: rx.Module) -> int:
    count = 0

    def visit(_: object) -> object:
        nonlocal count
        count += 1
        return rx.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count


def network() -> rx.Module:
    """Return convolutions, a pool and a softmax, before tensors become memory."""
    module = rx.Module()
    arguments = [rx.tensor((1, 16, 32, 32)), rx.tensor((16, 16, 3, 3)), rx.tensor((256, 100))]
    with module.function("main", arguments) as f:
        x, w, dense = f
        for _ in range(4):
            x = relax.nn.relu(relax.nn.conv2d(x, w, padding=(1, 1)))
        x = relax.reshape(relax.nn.max_pool2d(x, (8, 8), strides=(8, 8)), (1, 256))
        f.returns(relax.nn.softmax(relax.matmul(x, dense)))
    rx.Pipeline("relax-lower{stop=apply}").run(module)
    return module


def measure(module: rx.Module, text: str = "") -> dict[str, float]:
    count, mlir, printed = operations_in(module), str(module), module.script()
    works: dict[str, Callable[[], object]] = {}
    if text:
        works["Python's parser: TVMScript"] = lambda: ast.parse(text)
        works["TVMScript: read"] = lambda: rx.Module.from_script(text)
    works["Python's parser: IR"] = lambda: ast.parse(printed)
    works["IR as a script: read"] = lambda: rx.Module.from_script(printed)
    works["IR as a script: print"] = module.script
    works["MLIR's text: read"] = lambda: rx.Module.parse(mlir)
    works["MLIR's text: print"] = lambda: str(module)
    return {name: fastest(work) / count * 1e6 for name, work in works.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    texts = {"10,000 operators": graph(10_000), "300 PrimFuncs": programs(300)}
    figures = {name: measure(rx.Module.from_script(text), text) for name, text in texts.items()}
    figures["a network, scheduled"] = measure(network())
    print(f"{'µs per operation':<28}" + "".join(f"{name:>22}" for name in figures))
    for name in next(iter(figures.values())):
        shown = (f"{column[name]:.1f}" if name in column else "" for column in figures.values())
        print(f"{name:<28}" + "".join(f"{each:>22}" for each in shown))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
