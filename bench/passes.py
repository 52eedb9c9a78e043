# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds per operator of each graph pass, over repeated blocks of models.

    python bench/passes.py                      prints a table for each block: 1,000, 10,000 and 50,000 operators
    python bench/passes.py --sizes 1000 --json f

Time is the thread's own (CPU), the fastest of several rounds on fresh copies. "growth" is the figure of the largest
graph beside that of the smallest one: about 1 where a pass is linear. A pass runs behind those that it needs.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "python"))

import blocks
from before_after import op_names

#: Passes, and what runs before: named ones of the graph, then what makes kernels of it.
PASSES: dict[str, str] = {
    "relax-canonicalize": "",
    "cse": "",
    "relax-fold-constant": "",
    "relax-fold-batch-norm": "",
    "relax-decompose-ops{ops=all}": "",
    "relax-combine-parallel-matmul": "",
    "relax-reorder-matmul": "",
    "relax-reorder-permute-after-concat": "",
    "relax-fuse-transpose-matmul{most=none}": "",
    "relax-to-mixed-precision": "",
    "relax-convert-layout{desired=relax.nn.conv2d:NHWC:OHWI}": "",
    "relax-legalize-ops": "",
    "relax-annotate-op-pattern": "relax-legalize-ops",
    "relax-fuse-ops{epilogues=true}": "relax-legalize-ops",
    "tir-fuse": "relax-legalize-ops,relax-fuse-ops{epilogues=true}",
}
BLOCKS = {"resnet": blocks.resnet, "transformer": blocks.transformer, "llama": blocks.llama}
ROUNDS = 3


def measure(block: Any, count: int) -> dict[str, float]:
    """Microseconds per operator of each pass."""
    module = block(max(count // len(op_names(block(1))), 1))
    operators = len(op_names(module))
    found = {}
    for text, before in PASSES.items():
        prepared = module.copy()
        if before:
            rx.Pipeline(before, verify_each=False).run(prepared)
        found[text] = min(_seconds(text, prepared.copy()) for _ in range(ROUNDS)) / operators * 1e6
    return found


def _seconds(text: str, module: rx.Module) -> float:
    pipeline = rx.Pipeline(text, verify_each=False)
    gc.collect()
    start = time.thread_time()
    pipeline.run(module)
    return time.thread_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 50_000], help="operators")
    parser.add_argument("--blocks", nargs="+", choices=BLOCKS, default=list(BLOCKS))
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    figures: dict[str, dict[int, dict[str, float]]] = {}
    for name in arguments.blocks:
        figures[name] = {size: measure(BLOCKS[name], size) for size in arguments.sizes}
        print(f"{name + ': µs per operator':<56}" + "".join(f"{size:>10,}" for size in arguments.sizes) + "    growth")
        for text in PASSES:
            row = [figures[name][size][text] for size in arguments.sizes]
            print(f"{text:<56}" + "".join(f"{each:>10.1f}" for each in row) + f"{row[-1] / row[0]:>10.2f}", flush=True)
        print()
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
