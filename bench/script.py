# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds per operation of reading TVMScript, beside MLIR's own text of the same module.

    python bench/script.py            prints the table
    python bench/script.py --json f   writes the figures too

A graph of 10,000 operators, and 300 tensor programs of a few operations each. "Python's parser" is what ast.parse
takes of it. Time is the thread's own (CPU); each figure is the fastest of several rounds.
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
        start = time.thread_time()
        work()
        best = min(best, time.thread_time() - start)
    return best


def operations_in(module: rx.Module) -> int:
    count = 0

    def visit(_: object) -> object:
        nonlocal count
        count += 1
        return rx.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count


def measure(text: str) -> dict[str, float]:
    module = rx.Module.from_script(text)
    count, mlir = operations_in(module), str(module)
    works: dict[str, Callable[[], object]] = {
        "Python's parser": lambda: ast.parse(text),
        "from_script": lambda: rx.Module.from_script(text),
        "MLIR's text": lambda: rx.Module.parse(mlir),
    }
    return {name: fastest(work) / count * 1e6 for name, work in works.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = {"10,000 operators": measure(graph(10_000)), "300 PrimFuncs": measure(programs(300))}
    print(f"{'µs per operation':<24}" + "".join(f"{name:>20}" for name in figures))
    for name in next(iter(figures.values())):
        print(f"{name:<24}" + "".join(f"{column[name]:>20.1f}" for column in figures.values()))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
