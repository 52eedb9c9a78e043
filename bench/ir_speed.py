# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds per operation of frequent compiler work, at 10,000 and 100,000 relax operations.

    python bench/ir_speed.py            prints the table
    python bench/ir_speed.py --json f   writes the figures too

Two rows show the cost of the bindings themselves on this machine in this run: creating operations without any
inference, and verifying them with a Python verifier that always succeeds. All other rows are relative to these.

The graph is a chain of unary, binary and attribute-carrying operators in functions of 500 operations. Every tenth
function has a symbolic batch dimension, so that signatures repeat as in models.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import relax_mlir as rx

OPS_PER_FUNCTION = 500


def build(count: int) -> rx.Module:
    """Return a module with `count` relax operations, created with the public builders."""
    module = rx.Module()
    relax, ir = rx.relax, rx.ir
    with module:
        for index in range(count // OPS_PER_FUNCTION):
            symbolic = index % 10 == 0
            text = 'tensor<?x64xf32, #relax.sym<["n", 64]>>' if symbolic else "tensor<8x64xf32>"
            type_ = ir.Type.parse(text)
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(f"f{index}"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([type_, type_], [type_])),
                },
                regions=1,
            )
            block = function.regions[0].blocks.append(type_, type_)
            with ir.InsertionPoint(block):
                value, other = block.arguments
                for _ in range(OPS_PER_FUNCTION // 5):
                    value = relax.nn.relu(value)
                    value = relax.add(value, other)
                    value = relax.exp(value)
                    value = relax.nn.leakyrelu(value, alpha=0.2)
                    value = relax.multiply(value, other)
                ir.Operation.create("func.return", operands=[value])
    return module


floor = rx.Dialect("bench_floor", doc="What MLIR's bindings cost, whatever an operator's definition does.")
_nothing = floor.op("nothing", "x", infer=lambda call: call.x)
_nothing.verify_invariants = lambda op: True  # type: ignore[method-assign]


def build_floor(count: int) -> rx.Module:
    """Return a module with as many operations as in `build`, created without a builder."""
    module = rx.Module()
    ir = rx.ir
    with module.function("f", ["tensor<8x64xf32>"]) as f:
        (value,) = f
        types, location = [value.type], ir.Location.current
        for _ in range(count):
            value = ir.Operation.create("bench_floor.nothing", results=types, operands=[value], loc=location).result
        f.returns()
    return module


def walk(module: rx.Module) -> int:
    ir, seen = rx.ir, 0

    def visit(op: Any) -> Any:
        nonlocal seen
        seen += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return seen


def find(module: rx.Module) -> int:
    """Search operations by name like a pass; this module has none."""
    from relax_mlir.bindings.navigation import operations_named

    return len(operations_named(module.operation, "relax.matmul", "relax.nn.conv2d"))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def measure(count: int, repeats: int) -> dict[str, float]:
    """Return the median microseconds per operation of each step."""
    samples: dict[str, list[float]] = {}

    def note(name: str, seconds: float) -> None:
        samples.setdefault(name, []).append(seconds / count * 1e6)

    for _ in range(repeats):
        seconds, module = timed(lambda: build(count))
        note("create", seconds)
        note("verify", timed(module.verify)[0])
        seconds, bare = timed(lambda: build_floor(count))
        note("create, bindings alone", seconds)
        note("verify, bindings alone", timed(bare.verify)[0])
        seconds, text = timed(lambda m=module: m.print(assume_verified=True))
        note("print", seconds)
        seconds, data = timed(module.bytecode)
        note("write bytecode", seconds)
        note("parse (and verify)", timed(lambda t=text: rx.Module.parse(t))[0])
        note("parse bytecode (and verify)", timed(lambda d=data: rx.Module.parse(d))[0])
        note("walk, no-op", timed(lambda m=module: walk(m))[0])
        note("operations of a name", timed(lambda m=module: find(m))[0])
        pipeline = rx.Pipeline("cse", verify_each=False)
        note("cse", timed(lambda m=module, p=pipeline: p.run(m))[0])
        pipeline = rx.Pipeline("canonicalize", verify_each=False)
        note("canonicalize (upstream)", timed(lambda m=module, p=pipeline: p.run(m))[0])
    return {name: statistics.median(values) for name, values in samples.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    small = measure(10_000, arguments.repeats)
    large = measure(100_000, max(arguments.repeats // 2, 1))
    print(f"{'µs per operation':32}{'10k':>8}{'100k':>8}{'100k/10k':>10}")
    for name, value in small.items():
        print(f"{name:32}{value:8.2f}{large[name]:8.2f}{large[name] / value:10.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"10k": small, "100k": large}, indent=1) + "\n")


if __name__ == "__main__":
    main()
