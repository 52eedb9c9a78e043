# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times each exported model on one thread and on two, beside onnxruntime and, where it is installed, OpenVINO (f32).

python bench/models/latency.py build/models [name ...] [--threads 1 2] [--precision int8]   (exported by export.py)

int8: the static models, quantized by onnxruntime's tools with random calibration into build/models/<name>_int8.onnx
(QDQ, unsigned activations, signed weights with a scale for each channel). All take that file.

All run in turns in this process, each for a while before it is timed: threads of the one before look for work for some
time. Figures are medians of turns, in milliseconds; ratios below 1 say that this project is faster.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnxruntime
from compare import random_inputs
from zoo import ZOO, Exported

import relax_mlir as rx

_TURNS = 7
#: Seconds: to let others' threads go to sleep, to warm up, to measure.
_PAUSE, _WARM, _MEASURED = 0.05, 0.05, 0.08

Runs = dict[tuple[str, int], Callable[[], object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precision", choices=("f32", "int8"), default="f32")
    arguments = parser.parse_args()
    ratios: dict[tuple[str, int], list[float]] = {}
    for model in ZOO:
        if not arguments.names or model.name in arguments.names:
            find = _variants if arguments.precision == "f32" else _quantized
            for path, sizes in find(model, arguments.folder):
                found = _measured(_runs(path, random_inputs(model, sizes), arguments.threads))
                print(_row(path.stem, found, ratios), flush=True)
    for (peer, threads), each in ratios.items():
        print(f"geomean to {peer}, {threads} thread(s): {statistics.geometric_mean(each):.2f} of {len(each)}")


def _variants(model: Exported, folder: Path) -> Iterator[tuple[Path, dict[str, int]]]:
    for suffix in ("", "_dynamic"):
        path = folder / f"{model.name}{suffix}.onnx"
        if path.exists():
            yield path, model.sizes[0]


def _quantized(model: Exported, folder: Path) -> Iterator[tuple[Path, dict[str, int]]]:
    source, path = folder / f"{model.name}.onnx", folder / f"{model.name}_int8.onnx"
    if not source.exists():
        return
    if not path.exists():
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

        class Random(CalibrationDataReader):  # type: ignore[misc]
            """One input says how large numbers get."""

            def __init__(self) -> None:
                self._inputs = iter([random_inputs(model, model.sizes[0])])

            def get_next(self) -> dict[str, Any] | None:
                return next(self._inputs, None)

        partial = path.with_suffix(".partial")
        quantize_static(
            source,
            partial,
            Random(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )
        partial.rename(path)
    yield path, model.sizes[0]


def _runs(path: Path, inputs: Mapping[str, Any], threads: Sequence[int]) -> Runs:
    program = rx.compile(rx.from_onnx(path))
    given = list(inputs.values())
    runs: Runs = {}
    for count in threads:

        def ours(count: int = count) -> object:
            program.threads = count
            return program["main"](*given)

        runs["ours", count] = ours
        session = onnxruntime_session(path, count)
        runs["onnxruntime", count] = lambda session=session: session.run(None, dict(inputs))  # type: ignore[misc]
        request = _openvino(path, count, given)
        if request is not None:
            runs["OpenVINO", count] = request
    return runs


def onnxruntime_session(path: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _openvino(path: Path, threads: int, given: Sequence[Any]) -> Callable[[], object] | None:
    try:
        import openvino
    except ImportError:
        return None
    how = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(path, "CPU", how).create_infer_request()
    return lambda: request.infer(list(given))


def _measured(runs: Runs) -> dict[tuple[str, int], float]:
    """Milliseconds of each."""
    found: dict[tuple[str, int], list[float]] = {key: [] for key in runs}
    for run in runs.values():
        run()
    for _ in range(_TURNS):
        for key, run in runs.items():
            time.sleep(_PAUSE)
            _seconds_of_call(run, _WARM)
            found[key].append(_seconds_of_call(run, _MEASURED))
    return {key: statistics.median(each) * 1e3 for key, each in found.items()}


def _seconds_of_call(run: Callable[[], object], most: float) -> float:
    calls, start = 0, time.perf_counter()
    while calls < 2 or time.perf_counter() - start < most:
        run()
        calls += 1
    return (time.perf_counter() - start) / calls


def _row(name: str, found: Mapping[tuple[str, int], float], ratios: dict[tuple[str, int], list[float]]) -> str:
    parts = [f"{name:<22}"]
    for (who, threads), milliseconds in found.items():
        ratio = ""
        if who != "ours":
            value = found["ours", threads] / milliseconds
            ratios.setdefault((who, threads), []).append(value)
            ratio = f" ({value:.2f})"
        parts.append(f"{who} x{threads} {milliseconds:.2f}{ratio}")
    return "  ".join(parts)


if __name__ == "__main__":
    main()
