# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and memory of rx.quantize, beside as many calls of the compiled model in floating point.

python bench/quantization_cost.py build/models/bert.onnx            (exported by bench/models/export.py)

The goals are 3 times the time of the calls, and a peak of 1.5 times the model's bytes above the loaded model. Seconds
are processor time on one core, because others may share the machine. The exit code is 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])

import numpy  # noqa: E402
from relax_mlir.dialects.core.codec import decode  # noqa: E402
from relax_mlir.dialects.relax.constants import storage_dtype  # noqa: E402
from relax_mlir.dialects.relax.function_attributes import argument_names  # noqa: E402
from relax_mlir_quantize import calibration, quantize, tensor_statistics, variants  # noqa: E402

import relax_mlir as rx  # noqa: E402

TIME_GOAL, MEMORY_GOAL = 3.0, 1.5
MB = 1e6
#: Parts by the functions that compute them. The innermost one that runs counts.
PARTS = (
    (quantize, "lower", "lower the model"),
    (calibration, "compile", "compile observers"),
    (calibration.Observer, "__call__", "calls of observers"),
    (variants.Histogram, "add", "histograms"),
    (variants.Channels, "add", "statistics of channels"),
    (tensor_statistics, "smooth_channels", "smoothing"),
    (tensor_statistics, "equalize_layers", "equalization"),
    (variants, "place", "placement"),
    (variants.Variants, "scales", "scales"),
    (variants, "rounded_weights", "scales of weights"),
    (variants, "corrected_biases", "corrected biases"),
    (variants.Insertion, "run", "insertion"),
    (variants.Variants, "build", "rest of a variant"),
    (quantize.Report, "add_folded", "report"),
)  # fmt: skip


class Parts:
    """Processor time of functions, without that of other listed functions inside."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.peaks: dict[str, float] = {}
        self._stack: list[str] = ["rest"]
        self._since = time.process_time()
        for owner, name, label in PARTS:
            setattr(owner, name, self._timed(getattr(owner, name), label))

    def _timed(self, function: Callable[..., Any], label: str) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            self.turn()
            self._stack.append(label)
            try:
                return function(*arguments, **options)
            finally:
                self.turn()
                self._stack.pop()

        return run

    def turn(self) -> None:
        """Charge the time since the last turn to the function that runs, and note the memory."""
        now = time.process_time()
        self.seconds[self._stack[-1]] += now - self._since
        self._since, peak = now, _status("VmHWM")
        self.peaks[self._stack[-1]] = max(peak, self.peaks.get(self._stack[-1], 0.0))


def _status(name: str) -> float:
    """Return bytes of /proc/self/status."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024.0 for line in lines if line.startswith(f"{name}:"))


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def _samples(module: rx.Module, count: int) -> list[dict[str, Any]]:
    """Return random samples: integers are small ones, so that each is a word of the vocabulary."""
    function = calibration.function_named(module, "main")
    infos = [decode(each.type) for each in calibration.body_of(function).arguments]
    random = numpy.random.default_rng(0)

    def array(info: Any) -> Any:
        dtype = storage_dtype(info.dtype)
        drawn = random.normal(size=info.shape) if dtype.kind == "f" else random.integers(1, 1000, info.shape)
        return numpy.ones(info.shape, bool) if dtype.kind == "b" else drawn.astype(dtype)

    return [dict(zip(argument_names(function), map(array, infos), strict=True)) for _ in range(count)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--for", dest="for_", default="llvm")
    given = parser.parse_args()
    module = rx.from_onnx(given.model)
    samples = _samples(module, given.samples)
    size = given.model.stat().st_size
    parts = Parts()
    _forget_peak()
    before, begin = _status("VmRSS"), time.process_time()
    parts.turn()
    quantized = rx.quantize(module, samples, for_=given.for_)
    parts.turn()
    spent, peak = time.process_time() - begin, _status("VmHWM") - before
    del quantized
    call = rx.compile(module)["main"]
    call(**samples[0])
    begin = time.process_time()
    for sample in samples:
        call(**sample)
    calls = time.process_time() - begin
    print(f"{'part':<24}{'seconds':>9}{'MB peak':>9}")
    for part, seconds in parts.seconds.most_common():
        print(f"{part:<24}{seconds:9.2f}{(parts.peaks[part] - before) / MB:9.0f}")
    print(f"{given.samples} calls {calls:.2f} s; quantize {spent:.2f} s, ratio {spent / calls:.2f}, goal {TIME_GOAL}")
    print(f"model {size / MB:.0f} MB; peak {peak / MB:.0f} MB, ratio {peak / size:.2f}, goal {MEMORY_GOAL}")
    return int(spent > TIME_GOAL * calls or peak > MEMORY_GOAL * size)


if __name__ == "__main__":
    sys.exit(main())
