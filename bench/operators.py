# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX operators at sizes from models with constant weights, each as a model of its own, against onnxruntime, one
thread.

    python bench/operators.py            prints the table, with the slowest relative to onnxruntime at its end
    python bench/operators.py conv pool  operators with one of these in their names
    python bench/operators.py --open     dynamic batches, rows and picture sizes, beside ours with static ones

All take turns in one run. Each figure is the fastest call in microseconds, by its thread's CPU time, since others may
share the CPU. Ratios below 1 mean that this project is faster.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import onnxruntime
from onnx import helper, numpy_helper
from operator_cases import Case, cases

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).parent / "models"))
from goals import add_option, judge

#: Names of operators that must not be slower than onnxruntime.
_NONE_BEHIND = ("softmax", "norm", "attention", "pool", "resize", "gather")
_SECONDS, _OF_A_TURN = 0.2, 0.005
_TURNS = 5


def model_of(case: Case, is_open: bool) -> Any:
    inputs = [f"x{number}" for number in range(len(case.given))]
    known = [numpy_helper.from_array(numpy.asarray(array), f"w{number}") for number, array in enumerate(case.known)]
    results = [f"y{number}" for number in range(case.results)]
    names = [*inputs, *(each.name for each in known)]
    node = helper.make_node(case.op, names, results, domain=case.domain, **case.attributes)
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), sizes_of(array, is_open))
        for name, array in zip(inputs, case.given, strict=True)
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in results]
    graph = helper.make_graph([node], case.op, types, outputs, known)
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def sizes_of(array: Any, is_open: bool) -> list[int | str]:
    """Return the sizes: batch and sizes of pictures are open, and the number of rows."""
    open_axes = {0, *range(2, array.ndim)} if array.ndim > 3 else {0} if array.ndim > 1 else set()
    return [
        f"size_{size}" if is_open and axis in open_axes and size != 1 else size for axis, size in enumerate(array.shape)
    ]


Run = Callable[[], object]


def runs_of(case: Case, is_open: bool) -> list[Run]:
    """Return our run and onnxruntime's; with open sizes also ours with static ones."""
    model = model_of(case, is_open)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {f"x{number}": array for number, array in enumerate(case.given)}
    expected = session.run(None, feeds)
    ours = [_ours(each, case, expected) for each in ([model, model_of(case, False)] if is_open else [model])]
    return [ours[0], lambda: session.run(None, feeds), *ours[1:]]


def _ours(model: Any, case: Case, expected: Sequence[Any]) -> Run:
    program = rx.compile(rx.from_onnx(model))
    program.threads = 1
    main = program["main"]
    results = main(*case.given)
    for mine, theirs in zip(results if case.results > 1 else [results], expected, strict=True):
        numpy.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)
    return lambda: main(*case.given)


def fastest(runs: Sequence[Run]) -> list[float]:
    """Return the seconds per call of each, in turns."""
    best = [float("inf")] * len(runs)
    counts = [max(1, int(_OF_A_TURN / max(_seconds(run, 1), 1e-7))) for run in runs]
    end, turns = time.perf_counter() + _SECONDS * len(runs), 0
    while turns < _TURNS or time.perf_counter() < end:
        for number, run in enumerate(runs):
            best[number] = min(best[number], _seconds(run, counts[number]))
        turns += 1
    return best


def _seconds(run: Run, count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - start) / count


def _tell_behind(whose: str, found: Mapping[str, float]) -> None:
    behind = sorted((ratio, name) for name, ratio in found.items() if ratio > 1.05)
    mean = statistics.geometric_mean(found.values())
    print(f"{whose}geomean {mean:.2f} of {len(found)}; behind by more than a twentieth:")
    print("".join(f"  {ratio:5.2f}  {name}\n" for ratio, name in behind), end="")


def main() -> None:
    parser = argparse.ArgumentParser(description="Single ONNX operators against onnxruntime.")
    parser.add_argument("words", nargs="*", help="only those whose names have one of these in them")
    parser.add_argument("--open", action="store_true", help="batch and sizes of pictures, and how many rows, are open")
    add_option(parser)
    arguments = parser.parse_args()
    wanted, is_open = arguments.words, arguments.open
    found, to_known = dict[str, float](), dict[str, float]()
    print(f"{'microseconds':<36} {'ours':>9} {'onnxruntime':>12}  ratio" + "  known sizes  ratio" * is_open)
    for name, case in cases().items():
        if wanted and not any(each in name for each in wanted):
            continue
        ours, theirs, *known = fastest(runs_of(case, is_open))
        found[name] = ours / theirs
        row = f"{name:<36} {ours * 1e6:9.1f} {theirs * 1e6:12.1f}  {found[name]:5.2f}"
        for each in known:
            to_known[name] = ours / each
            row += f" {each * 1e6:12.1f}  {to_known[name]:5.2f}"
        print(row, flush=True)
    _tell_behind("", found)
    if to_known:
        _tell_behind("to known sizes: ", to_known)
    goal = {name: ratio for name, ratio in found.items() if any(word in name for word in _NONE_BEHIND)}
    judge(arguments.goals, "softmax, norms, attention, pools, resize, gather to onnxruntime", 1.0, goal)


if __name__ == "__main__":
    main()
