# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Microseconds per operation of each graph pass, over repeated blocks of models.

    python bench/passes.py                      prints a table for each block: 1,000, 10,000 and 50,000 operations
    python bench/passes.py --sizes 1000 --json f

Time is the thread's own (CPU), the fastest of several rounds on fresh copies. Operations are counted like MLIR's
print-op-stats. Constants are operations too, and passes for weights do more work on them than on operators. "growth" is
the figure of the largest graph relative to the smallest one: about 1 if a pass is linear. The last column is the
largest graph's time per operator of relax, without constants. A pass runs after the passes that it needs. Operations
are the block's, or the results of these passes if those are more.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "python" / "helpers"))

import blocks
from before_after import op_names
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, last_of, operations_of
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.graph.params.signature import NUM_INPUT, add_arguments, state_type
from relax_mlir.passes.graph.relax_bind_params import BindParams
from relax_mlir.passes.graph.relax_unbind_params import UnbindParams

from relax_mlir import relax

#: Passes with the passes before them: named passes of the graph, then the ones that create kernels.
PASSES: dict[str, str] = {
    "relax-canonicalize": "",
    "relax-dead-code-elimination": "",
    "relax-inline": "",
    "relax-infer-symbolic-shapes": "",
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
    "relax-bind-params": "",
    "relax-unbind-params": "",
    "relax-bundle-params": "",
    "relax-lift-transform-params": "relax-to-mixed-precision",
    "relax-gradient": "",
    "relax-annotate-op-pattern": "relax-legalize-ops",
    "relax-fuse-ops{epilogues=true}": "relax-legalize-ops",
    "tir-fuse": "relax-legalize-ops,relax-fuse-ops{epilogues=true}",
    "relax-plan-memory": "relax-legalize-ops,relax-fuse-ops{epilogues=true},tir-fuse",
}
BLOCKS = {"resnet": blocks.resnet, "transformer": blocks.transformer, "llama": blocks.llama}


def constants_as_weights(module: rx.Module) -> dict[str, Any]:
    """Convert the constants to parameters, and return their elements."""
    function = next(functions_in(module.operation))
    constants = [op for op in operations_of(body_of(function)) if op.name == "arith.constant"]
    names = [f"w{index}" for index in range(len(constants))]
    arrays = {name: elements_of(op.results[0]) for name, op in zip(names, constants, strict=True)}
    inputs = len(body_of(function).arguments)
    arguments = add_arguments(function, names, [op.results[0].type for op in constants])
    for op, argument in zip(constants, arguments, strict=True):
        op.results[0].replace_all_uses_with(argument)
        op.erase()
    function.attributes[NUM_INPUT] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), inputs)
    state_type(function)
    return arrays


class Unbind(UnbindParams):
    """Variant that does not write the file."""

    def run(self, op: Operation) -> None:
        self.unbind(op)


def result_as_number(module: rx.Module) -> str:
    """Make the function return the sum of its result, which has a gradient."""
    function = next(functions_in(module.operation))
    returned = last_of(body_of(function))
    with returned.location:
        returned.operands[0] = relax.sum(returned.operands[0], ip=ir.InsertionPoint(returned))
    state_type(function)
    return "relax-gradient"


#: Preparation of a module for these passes, which returns the pass.
PREPARED: dict[str, Callable[[rx.Module], Pass | str]] = {
    "relax-bind-params": lambda module: BindParams(arrays=constants_as_weights(module)),
    "relax-unbind-params": lambda module: Unbind(),
    "relax-bundle-params": lambda module: constants_as_weights(module) and "relax-bundle-params",
    "relax-lift-transform-params": lambda module: constants_as_weights(module) and "relax-lift-transform-params",
    "relax-gradient": result_as_number,
}


class Figure(NamedTuple):
    """Microseconds of a pass."""

    per_operation: float
    per_operator: float


def measure(block: Any, count: int, passes: Mapping[str, str], rounds: int) -> dict[str, Figure]:
    """Return the figures of each pass, over a graph of that many operations."""
    one, two = (_counts(block(each))[0] for each in (1, 2))
    module = block(max((count - one) // (two - one) + 1, 1))
    found = {}
    for text, before in passes.items():
        prepared = module.copy()
        with prepared.operation.context:
            run = PREPARED[text](prepared) if text in PREPARED else text
        if before:
            rx.Pipeline(before, verify_each=False).run(prepared)
        microseconds = min(_seconds(run, prepared.copy()) for _ in range(rounds)) * 1e6
        counts = zip(_counts(module), _counts(prepared), strict=True)
        found[text] = Figure(*(microseconds / max(given, made) for given, made in counts))
    return found


def _counts(module: rx.Module) -> tuple[int, int]:
    """Count all operations, and relax's operators."""
    return len(op_names(module, "")), len(op_names(module))


def _seconds(run: Pass | str, module: rx.Module) -> float:
    pipeline = rx.Pipeline(run, verify_each=False)
    gc.collect()
    start = time.thread_time()
    # As in stages, without the copy that a pipeline keeps to restore the module after an error.
    pipeline.run(module, all_or_nothing=False)
    return time.thread_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 50_000], help="operations")
    parser.add_argument("--blocks", nargs="+", choices=BLOCKS, default=list(BLOCKS))
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument(
        "--passes", nargs="+", choices=PASSES, default=list(PASSES), metavar="PASS", help="as in the table"
    )
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    passes = {text: PASSES[text] for text in arguments.passes}
    figures: dict[str, dict[int, dict[str, Figure]]] = {}
    for name in arguments.blocks:
        figures[name] = {size: measure(BLOCKS[name], size, passes, arguments.rounds) for size in arguments.sizes}
        sizes = "".join(f"{size:>10,}" for size in arguments.sizes)
        print(f"{name + ': µs per operation':<56}{sizes}    growth  per operator")
        for text in passes:
            row = [figures[name][size][text] for size in arguments.sizes]
            times = "".join(f"{each.per_operation:>10.1f}" for each in row)
            growth = row[-1].per_operation / row[0].per_operation
            print(f"{text:<56}{times}{growth:>10.2f}{row[-1].per_operator:>14.1f}", flush=True)
        print()
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
