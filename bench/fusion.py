# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gain from two rules of fusion: joining adjacent kernels, and computing cheap heads again.

    python bench/fusion.py            prints the table
    python bench/fusion.py --json f   writes the figures too

A row is one function, compiled with the rule and without it: microseconds of CPU time per call, in turns, the fastest
of all rounds. "own": elementwise operations on a tensor each, in one kernel by hand (`relax.group`), which shows the
cost of a kernel's call. "shared": the same on one tensor. "head": one cheap operation that sums and maxima of rows
read.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import tvm_ffi
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in

import relax_mlir as rx
from relax_mlir import relax

# Figures are for one thread.
os.environ.setdefault("RELAX_NUM_THREADS", "1")

ROUNDS, SECONDS = 30, 0.01
FUSE = "trivial-dce,relax-fuse-ops{epilogues=true %s},tir-fuse,tir-inline-constants,symbol-dce"
STEPS = (relax.negative, relax.abs, relax.square, relax.sqrt, relax.nn.relu, relax.floor, relax.ceil, relax.round)
SIZES = ((1, 768), (64, 1024), (1024, 1024))


@dataclass(frozen=True)
class Row:
    name: str
    size: tuple[int, int]
    inputs: int
    body: Callable[..., Any]
    dtype: str = "float32"
    #: Option of relax-fuse-ops for the rule; "" if the kernels are joined by hand.
    rule: str = ""

    def compiled(self, *, with_rule: bool) -> Any:
        module = rx.Module()
        with module.function("main", [rx.tensor(self.size, self.dtype)] * self.inputs) as f:
            f.returns(*self.body(*f))
        options = f"{self.rule}={str(with_rule).lower()}" if self.rule else ""
        stages = rx.stages("llvm", 3)
        if not self.rule and with_rule:
            module = rx.lower(module, "llvm", pipeline=stages.until("legalize"))
            with module.context:
                for op in operations_in(module.operation):
                    if op.name == "relax.call_tir":
                        op.attributes["relax.group"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        return rx.compile(module, pipeline=stages.replace("fuse", FUSE % options))


def on_each(count: int) -> Callable[..., Any]:
    return lambda *given: [step(x) for step, x in zip(STEPS[:count], given, strict=True)]


def on_one(count: int) -> Callable[..., Any]:
    return lambda x: [step(x) for step in STEPS[:count]]


def head(x: Any) -> Any:
    made = relax.nn.relu(x) if x.type.element_type == ir.F32Type.get() else relax.astype(x, dtype="float32")
    return relax.sum(made, axis=[1]), relax.max(made, axis=[1])


ROWS = [
    *(Row(f"own x{count}", size, count, on_each(count)) for size in SIZES[:2] for count in (2, 8)),
    *(Row(f"shared x{count}", size, 1, on_one(count), rule="beside") for size in SIZES for count in (2, 4, 8)),
    *(Row(f"head {dtype}", size, 1, head, dtype, "again") for size in SIZES for dtype in ("float32", "int8")),
]


def measured(row: Row) -> tuple[float, float]:
    """Return the microseconds without the rule, and with it."""
    arrays = [tvm_ffi.from_dlpack(numpy.ones(row.size, row.dtype)) for _ in range(row.inputs)]
    calls = [row.compiled(with_rule=with_rule)["main"].packed for with_rule in (False, True)]
    counts = [max(1, int(SECONDS / _seconds(call, arrays, 3))) for call in calls]
    rounds = [[_seconds(call, arrays, count) for call, count in zip(calls, counts, strict=True)] for _ in range(ROUNDS)]
    without, with_rule = map(min, zip(*rounds, strict=True))
    return without * 1e6, with_rule * 1e6


def _seconds(call: Any, arrays: list[Any], count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        call(*arrays)
    return (time.thread_time() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    figures = []
    print(f"{'us a call':16}{'size':>12}{'without':>10}{'with':>10}{'ratio':>8}")
    for row in ROWS:
        without, with_rule = measured(row)
        size = "x".join(map(str, row.size))
        print(f"{row.name:16}{size:>12}{without:10.2f}{with_rule:10.2f}{with_rule / without:8.2f}", flush=True)
        figures.append({"name": row.name, "size": size, "without": without, "with": with_rule})
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
