# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of TVM's te_workload and models: the target's plans, and plans that rx.tune finds.

    python bench/tune.py [GMM SFM ...] [--models build/models/mlp.onnx] [--trials 64] [--threads 1]

Sizes are te_workload's first ones. Weights are arguments, as there. "ms" is a call by the target's plans, "ratio" the
time by tuned plans to it, measured in turns at the end of a search. "s" are seconds per trial.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.tuning import cpu_name

Build = Callable[..., Any]


def conv2d(x: Any, w: Any, **options: Any) -> Any:
    return relax.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO", **options)


def cbr(x: Any, w: Any, bias: Any, scale: Any, offset: Any) -> Any:
    made = conv2d(x, w, strides=(2, 2), padding=(3, 3, 3, 3))
    return relax.nn.relu(relax.add(relax.multiply(relax.add(made, bias), scale), offset))


def tbg(query: Any, value: Any) -> Any:
    rows = relax.permute_dims(query, axes=(0, 2, 1, 3))
    return relax.matmul(rows, relax.permute_dims(value, axes=(0, 2, 3, 1)))


#: Sizes of arguments, and the operator.
OPERATORS: dict[str, tuple[Sequence[Sequence[int]], Build]] = {
    "C1D": (
        [(1, 256, 64), (3, 64, 128)],
        lambda x, w: relax.nn.conv1d(x, w, strides=(2,), padding=(1, 1), data_layout="NWC", kernel_layout="WIO"),
    ),
    "C2D": ([(1, 224, 224, 3), (7, 7, 3, 64)], lambda x, w: conv2d(x, w, strides=(2, 2), padding=(3, 3, 3, 3))),
    "GMM": ([(1, 128, 128), (1, 128, 128)], relax.matmul),
    "GRP": (
        [(1, 56, 56, 64), (3, 3, 16, 128)],
        lambda x, w: conv2d(x, w, strides=(2, 2), padding=(1, 1, 1, 1), groups=4),
    ),
    "DIL": (
        [(1, 224, 224, 3), (7, 7, 3, 64)],
        lambda x, w: conv2d(x, w, strides=(2, 2), padding=(3, 3, 3, 3), dilation=(2, 2)),
    ),
    "DEP": ([(1, 112, 112, 32), (3, 3, 1, 32)], lambda x, w: conv2d(x, w, padding=(1, 1, 1, 1), groups=32)),
    "NRM": ([(1, 256, 256)], lambda x: relax.sqrt(relax.sum(relax.multiply(x, x), axis=[1, 2]))),
    "SFM": ([(256, 256)], lambda x: relax.nn.softmax(x, axis=1)),
    "CBR": ([(1, 224, 224, 3), (7, 7, 3, 64), (64,), (64,), (64,)], cbr),
    "TBG": ([(1, 128, 12, 64), (1, 128, 12, 64)], tbg),
}


def module_of(name: str) -> rx.Module:
    """Return a module of one operator."""
    shapes, build = OPERATORS[name]
    with rx.Module() as module, module.function("main", [rx.tensor(tuple(shape)) for shape in shapes]) as f:
        f.returns(build(*f))
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", choices=[[], *OPERATORS])
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    names = options.operators or ([] if options.models else list(OPERATORS))
    cases = [(name, module_of(name)) for name in names]
    cases += [(os.path.basename(path), rx.from_onnx(path)) for path in options.models]
    print(f"{cpu_name()}, {options.threads} threads, {options.trials} trials")
    print(f"{'':<20}{'ms':>10}{'ratio':>8}{'trials':>8}{'s':>8}")
    for name, module in cases:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            found = rx.tune(module, trials=options.trials, threads=options.threads, folder=folder)
            seconds = time.perf_counter() - start
        trials = sum(len(each.search.outcomes) for each in found.tasks if each.search is not None)
        whole = sum(each.seconds * each.task.calls for each in found.tasks) * 1e3
        wrong = f"   {len(found.wrong)} wrong" if found.wrong else ""
        print(
            f"{name:<20}{whole:>10.3f}{found.ratio:>8.3f}{trials:>8}{seconds / max(trials, 1):>8.2f}{wrong}", flush=True
        )


if __name__ == "__main__":
    main()
