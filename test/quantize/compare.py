# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantize nets by this project, NNCF and onnxruntime with the same samples, and print their scores and times.

Usage: compare.py [TASK ...]. Scores are in percent; "drop" is the loss against the net in floating point. Exits with 1
if a drop is larger than the smaller one of the peers and than one point.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy
import onnx
import onnxruntime
from tasks import Feed, Net, Task, tasks

import relax_mlir as rx

#: Largest drop that counts as equal to the peers', in points.
_POINT = 1.0
_TURNS = 20


class Outcome(NamedTuple):
    """Net of one quantizer, or the reason why there is none."""

    net: Net | None
    reason: str = ""


def _by_onnxruntime(model: onnx.ModelProto) -> Net:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda feed: [numpy.asarray(each) for each in session.run(None, dict(feed))]


def _compiled(module: rx.Module) -> Net:
    call = rx.compile(module)["main"]

    def run(feed: Feed) -> Sequence[numpy.ndarray]:
        results = call(**{name: numpy.ascontiguousarray(each) for name, each in feed.items()})
        listed = results if isinstance(results, (list, tuple)) else [results]
        return [numpy.from_dlpack(each) for each in listed]

    return run


def _ours(task: Task, samples: list[Feed]) -> Net:
    return _compiled(rx.quantize(rx.from_onnx(task.load()), samples).module)


def _onnxruntimes(task: Task, samples: list[Feed]) -> Net:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self._rest = iter(samples)

        def get_next(self) -> Feed | None:
            return next(self._rest, None)

    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("float.onnx", "ready.onnx", "int8.onnx")]
        onnx.save(task.load(), paths[0])
        quant_pre_process(paths[0], paths[1], skip_symbolic_shape=True)
        quantize_static(
            paths[1], paths[2], Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
        )  # fmt: skip
        return _by_onnxruntime(onnx.load(paths[2]))


def _nncfs(task: Task, samples: list[Feed]) -> Net:
    import nncf

    logging.getLogger("nncf").setLevel(logging.ERROR)
    kind = nncf.ModelType.TRANSFORMER if task.is_transformer else None
    found = nncf.quantize(task.load(), nncf.Dataset(samples), subset_size=len(samples), model_type=kind)
    return _by_onnxruntime(found)


QUANTIZERS: dict[str, Callable[[Task, list[Feed]], Net]] = {"ours": _ours, "NNCF": _nncfs, "onnxruntime": _onnxruntimes}


def _outcome(quantize: Callable[[Task, list[Feed]], Net], task: Task, samples: list[Feed]) -> Outcome:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return Outcome(quantize(task, samples))
    except Exception as error:  # a peer may refuse a net by any error
        return Outcome(None, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]:.100}")


def _times(nets: dict[str, Net], feed: Feed) -> dict[str, float]:
    """Return the milliseconds of processor time of the fastest call of each net, in turns."""
    found = dict.fromkeys(nets, float("inf"))
    for _ in range(_TURNS):
        for name, net in nets.items():
            begin = time.process_time()
            net(feed)
            found[name] = min(found[name], 1000 * (time.process_time() - begin))
    return found


def compare(task: Task) -> bool:
    """Print one task's row. Returns True if the goal holds."""
    samples = task.calibration()
    floats = {"float, ours": _compiled(rx.from_onnx(task.load())), "float, onnxruntime": _by_onnxruntime(task.load())}
    before = task.score(floats["float, onnxruntime"])
    print(f"{task.name}: {len(samples)} samples, {before:.2f} % in floating point", flush=True)
    drops, nets = {}, dict(floats)
    for name, quantize in QUANTIZERS.items():
        begin = time.perf_counter()
        net, reason = _outcome(quantize, task, samples)
        if net is None:
            print(f"  {name:12} refused: {reason}")
            continue
        seconds, nets[name] = time.perf_counter() - begin, net
        drops[name] = before - task.score(net)
        print(f"  {name:12} drop {drops[name]:6.2f}, quantized in {seconds:.1f} s", flush=True)
    times = _times(nets, samples[0])
    print("  ms: " + ", ".join(f"{name} {each:.2f}" for name, each in times.items()), flush=True)
    best = min((drop for name, drop in drops.items() if name != "ours"), default=float("inf"))
    return "ours" in drops and (drops["ours"] <= max(best, 0) or drops["ours"] <= _POINT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="names of tasks, or parts of these; default: all")
    only = parser.parse_args().only
    chosen = [task for task in tasks() if not only or any(each in task.name for each in only)]
    if not chosen:
        parser.error(f"no task is called like {', '.join(only)}; there are {', '.join(task.name for task in tasks())}")
    missed = [task.name for task in chosen if not compare(task)]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} reach the goal" + "".join(f"; not {name}" for name in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
