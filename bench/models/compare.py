# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile each exported model once and compare it with onnxruntime, the dynamic ones at three sizes.

python bench/models/compare.py build/models [name ...]         (exported by export.py; exit code 1 on a difference)

"difference" is the largest difference relative to the largest number of a result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy
import onnxruntime
from relax_mlir.runtime import to_numpy
from zoo import ZOO, Exported

import relax_mlir as rx

#: Tolerance relative to the largest number of a result.
TOLERANCE = 1e-4


def main(folder: str, *names: str) -> int:
    failed = 0
    print(f"{'model':<24}{'sizes':<28}{'difference':>12}{'compile s':>11}{'ms':>9}{'onnxruntime':>13}")
    for model in ZOO:
        if not names or model.name in names:
            failed += sum(not close for close in compare(model, Path(folder)))
    print("all agree" if not failed else f"{failed} differ")
    return 1 if failed else 0


def compare(model: Exported, folder: Path) -> Iterator[bool]:
    for suffix, variants in (("", model.sizes[:1]), ("_dynamic", model.sizes)):
        path = folder / f"{model.name}{suffix}.onnx"
        if not path.exists():
            print(f"{path.name}: not exported", file=sys.stderr)
            yield False
            continue
        start = time.perf_counter()
        program = rx.compile(rx.from_onnx(path))
        program.threads = 1
        main_function = program["main"]
        seconds = time.perf_counter() - start
        session = onnxruntime_session(path)
        for sizes in variants:
            yield _compare_at(model, path.stem, sizes, main_function, session, seconds)


def _compare_at(
    model: Exported, name: str, sizes: dict[str, int], main_function: Any, session: Any, seconds: float
) -> bool:
    inputs = random_inputs(model, sizes)
    expected = session.run(None, inputs)
    given = list(inputs.values())
    results = main_function(*given)
    worst = apart(results if len(expected) > 1 else [results], expected)
    close = worst <= TOLERANCE
    ours, theirs = _milliseconds(lambda: main_function(*given)), _milliseconds(lambda: session.run(None, inputs))
    shown = " ".join(f"{key}={value}" for key, value in sizes.items())
    verdict = "" if close else "  DIFFERS"
    print(f"{name:<24}{shown:<28}{worst:>12.1e}{seconds:>11.2f}{ours:>9.2f}{theirs:>13.2f}{verdict}", flush=True)
    return close


def random_inputs(model: Exported, sizes: dict[str, int]) -> dict[str, Any]:
    random = numpy.random.default_rng(0)
    made = {}
    for each in model.inputs:
        shape = model.shape(each, sizes)
        drawn = random.integers(0, each.below, shape) if each.below else random.standard_normal(shape)
        made[each.name] = drawn.astype(each.dtype)
    return made


def onnxruntime_session(path: Path, threads: int = 1, sizes: Mapping[str, int] = MappingProxyType({})) -> Any:
    """Return a session. `sizes` are the values of dynamic sizes in the model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    for name, size in sizes.items():
        options.add_free_dimension_override_by_name(name, size)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def apart(results: Sequence[Any], expected: Sequence[Any]) -> float:
    """Return the largest difference relative to the largest number of a result. NaN is the largest."""
    found = [0.0]
    for got, right in zip(results, expected, strict=True):
        actual = to_numpy(got)
        if (actual.dtype, actual.shape) != (right.dtype, right.shape):
            return float("inf")
        difference = numpy.max(numpy.abs(actual.astype("float64") - right), initial=0.0)
        found.append(float(difference) / (float(numpy.max(numpy.abs(right), initial=0.0)) or 1.0))
    return float(numpy.max(found))


def _milliseconds(call: Any) -> float:
    """Return the median of a few calls, within half a second."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < 0.5 and len(times) < 50):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e3


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
