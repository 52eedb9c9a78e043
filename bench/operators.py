# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX operators at sizes that models have, weights known, each as a model of its own, beside onnxruntime, one thread.

    python bench/operators.py            prints the table, those that are furthest behind at its end
    python bench/operators.py conv pool  those whose names have one of these in them

Both take turns in one run; each figure is the fastest call in microseconds, by the time that its thread was on the CPU,
which others may share. Ratios below 1 say that this project is faster.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy
import onnxruntime
from onnx import helper, numpy_helper

import relax_mlir as rx

_SECONDS, _OF_A_TURN = 0.4, 0.01
_TURNS = 5
_rng = numpy.random.default_rng(0)


class Case(NamedTuple):
    """A node: what comes in at each call, what is known, its attributes."""

    op: str
    given: tuple[Any, ...]
    known: tuple[Any, ...] = ()
    attributes: Mapping[str, Any] = MappingProxyType({})


def floats(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype("float32")


def below(limit: int, *shape: int) -> Any:
    return _rng.integers(0, limit, shape)


def conv(data: tuple[int, ...], weight: tuple[int, ...], op: str = "Conv", **attributes: Any) -> Case:
    return Case(op, (floats(*data),), (floats(*weight),), attributes)


def pool(op: str, data: tuple[int, ...], size: int, stride: int = 1, pad: int = 0) -> Case:
    return Case(op, (floats(*data),), (), {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [pad] * 4})


def resize(mode: str, data: tuple[int, ...], scale: float) -> Case:
    none, scales = numpy.zeros(0, "float32"), numpy.array([1, 1, scale, scale], "float32")
    return Case("Resize", (floats(*data),), (none, scales), {"mode": mode})


def recurrent(op: str, gates: int, batch: int = 1, direction: str = "forward") -> Case:
    count = 2 if direction == "bidirectional" else 1
    known = (floats(count, gates * 128, 64) / 8, floats(count, gates * 128, 128) / 16, floats(count, gates * 256))
    return Case(op, (floats(50, batch, 64),), known, {"hidden_size": 128, "direction": direction})


def cases() -> dict[str, Case]:
    x, rows = floats(1, 64, 56, 56), floats(128, 3072)
    return {
        "conv 3x3, 64, 56": conv((1, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4),
        "conv 3x3, 512, 7": conv((1, 512, 7, 7), (512, 512, 3, 3), pads=[1] * 4),
        "conv 1x1, 256 to 64, 56": conv((1, 256, 56, 56), (64, 256, 1, 1)),
        "conv 1x1 by 2, 256 to 512, 56": conv((1, 256, 56, 56), (512, 256, 1, 1), strides=[2, 2]),
        "conv 7x7 by 2, 3 to 64, 224": conv((1, 3, 224, 224), (64, 3, 7, 7), strides=[2, 2], pads=[3] * 4),
        "conv 3x3 by 2, 128, 56": conv((1, 128, 56, 56), (128, 128, 3, 3), strides=[2, 2], pads=[1] * 4),
        "conv 3x3, batch 8": conv((8, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4),
        "conv depthwise 3x3, 144, 56": conv((1, 144, 56, 56), (144, 1, 3, 3), pads=[1] * 4, group=144),
        "conv depthwise 3x3 by 2": conv((1, 144, 56, 56), (144, 1, 3, 3), strides=[2, 2], pads=[1] * 4, group=144),
        "conv depthwise 7x7, 96, 56": conv((1, 96, 56, 56), (96, 1, 7, 7), pads=[3] * 4, group=96),
        "conv 32 groups, 128, 56": conv((1, 128, 56, 56), (128, 4, 3, 3), pads=[1] * 4, group=32),
        "conv 8 groups, 256, 28": conv((1, 256, 28, 28), (256, 32, 3, 3), pads=[1] * 4, group=8),
        "conv dilated by 12, 256, 33": conv((1, 256, 33, 33), (256, 256, 3, 3), pads=[12] * 4, dilations=[12, 12]),
        "conv 5x5, 20 to 50, 28": conv((1, 20, 28, 28), (50, 20, 5, 5), pads=[2] * 4),
        "conv 1-d, 64, 1000": conv((1, 64, 1000), (64, 64, 5), pads=[2, 2]),
        "conv 1-d of sound, by 160": conv((1, 1, 16000), (80, 1, 400), strides=[160]),
        "conv 3-d, 32, 16": conv((1, 32, 16, 16, 16), (32, 32, 3, 3, 3), pads=[1] * 6),
        "transposed 4x4 by 2, 256 to 128": conv(
            (1, 256, 16, 16), (256, 128, 4, 4), "ConvTranspose", strides=[2, 2], pads=[1] * 4
        ),
        "transposed 2x2 by 2, 128 to 64": conv((1, 128, 32, 32), (128, 64, 2, 2), "ConvTranspose", strides=[2, 2]),
        "transposed 3x3, 64, 32": conv((1, 64, 32, 32), (64, 64, 3, 3), "ConvTranspose", pads=[1] * 4),
        "max pool 3x3 by 2": pool("MaxPool", (1, 64, 112, 112), 3, 2, 1),
        "max pool 2x2 by 2": pool("MaxPool", (1, 64, 112, 112), 2, 2),
        "max pool 5x5": pool("MaxPool", (1, 128, 20, 20), 5, 1, 2),
        "average pool 3x3": pool("AveragePool", (1, 192, 28, 28), 3, 1, 1),
        "average pool of all": Case("GlobalAveragePool", (floats(1, 2048, 7, 7),)),
        "resize nearest": resize("nearest", (1, 64, 56, 56), 2),
        "resize linear": resize("linear", (1, 64, 56, 56), 2),
        "resize cubic": resize("cubic", (1, 16, 56, 56), 2),
        "grid sample": Case("GridSample", (floats(1, 32, 64, 64), numpy.clip(floats(1, 64, 64, 2), -1, 1))),
        "gather rows": Case("Gather", (floats(30000, 768), below(30000, 128))),
        "gather columns": Case("Gather", (floats(512, 1000), below(1000, 128)), (), {"axis": 1}),
        "gather elements": Case("GatherElements", (floats(512, 1000), below(512, 256, 1000))),
        "gather places": Case("GatherND", (floats(64, 64, 64), below(64, 2000, 2))),
        "scatter places": Case("ScatterND", (floats(64, 64, 64), below(64, 2000, 2), floats(2000, 64))),
        "transpose to channels last": Case("Transpose", (x,), (), {"perm": [0, 2, 3, 1]}),
        "transpose a matrix": Case("Transpose", (floats(1024, 1024),), (), {"perm": [1, 0]}),
        "concat channels": Case("Concat", (x, x), (), {"axis": 1}),
        "pad": Case("Pad", (x,), (numpy.array([0, 0, 1, 1, 0, 0, 1, 1]),)),
        "softmax of rows": Case("Softmax", (floats(128, 1000),)),
        "softmax of channels": Case("Softmax", (floats(1, 21, 128, 128),), (), {"axis": 1}),
        "layer norm": Case("LayerNormalization", (floats(128, 768),), (floats(768), floats(768))),
        "instance norm": Case("InstanceNormalization", (x,), (floats(64), floats(64))),
        "mean of pictures": Case("ReduceMean", (x,), (numpy.array([2, 3]),)),
        "sum of all": Case("ReduceSum", (floats(1024, 1024),), (), {"keepdims": 0}),
        "largest of columns": Case("ReduceMax", (floats(1024, 1024),), (numpy.array([0]),)),
        "place of the largest": Case("ArgMax", (floats(128, 30000),), (), {"axis": -1}),
        "cumulative sum": Case("CumSum", (floats(128, 1000),), (numpy.array(1),)),
        "gelu": Case("Gelu", (rows,)),
        "erf": Case("Erf", (rows,)),
        "tanh": Case("Tanh", (rows,)),
        "power": Case("Pow", (numpy.abs(rows),), (numpy.array([2.5], "float32"),)),
        "select": Case("Where", (rows > 0, rows, rows)),
        "product, 128 x 768 x 3072": Case("MatMul", (floats(128, 768),), (floats(768, 3072),)),
        "product, 12 x 128 x 64 x 128": Case("MatMul", (floats(12, 128, 64), floats(12, 64, 128))),
        "product with a vector": Case("MatMul", (floats(1024, 1024),), (floats(1024, 1),)),
        "product of a row": Case("MatMul", (floats(1, 1024),), (floats(1024, 1024),)),
        "product of 4 rows": Case("MatMul", (floats(4, 1024),), (floats(1024, 1024),)),
        "product of 16 rows": Case("MatMul", (floats(16, 1024),), (floats(1024, 1024),)),
        "gemm, a row": Case("Gemm", (floats(1, 1024),), (floats(1000, 1024), floats(1000)), {"transB": 1}),
        "gemm, 32 rows": Case("Gemm", (floats(32, 1024),), (floats(1000, 1024), floats(1000)), {"transB": 1}),
        "gemm, a weight not known": Case("Gemm", (floats(32, 1024), floats(1024, 1024)), (), {"transB": 1}),
        "lstm, 50 steps of 128": recurrent("LSTM", 4),
        "lstm, both ways, 8 at a time": recurrent("LSTM", 4, 8, "bidirectional"),
        "gru, 50 steps of 128": recurrent("GRU", 3),
        "rnn, 50 steps of 128": recurrent("RNN", 1),
        "regions": Case(
            "RoiAlign",
            (floats(1, 64, 50, 50), (_rng.random((100, 4)) * [20, 20, 49, 49]).astype("float32"), below(1, 100)),
            (),
            {"output_height": 7, "output_width": 7, "sampling_ratio": 2},
        ),
    }


def model_of(case: Case) -> Any:
    inputs = [f"x{number}" for number in range(len(case.given))]
    known = [numpy_helper.from_array(array, f"w{number}") for number, array in enumerate(case.known)]
    node = helper.make_node(case.op, [*inputs, *(each.name for each in known)], ["y"], **case.attributes)
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(inputs, case.given, strict=True)
    ]
    graph = helper.make_graph([node], case.op, types, [helper.make_empty_tensor_value_info("y")], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def runs_of(case: Case) -> tuple[Callable[[], object], Callable[[], object]]:
    model = model_of(case)
    program = rx.compile(rx.from_onnx(model))
    program.threads = 1
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {f"x{number}": array for number, array in enumerate(case.given)}
    onnx_result = session.run(None, feeds)[0]
    numpy.testing.assert_allclose(program["main"](*case.given), onnx_result, rtol=1e-3, atol=1e-3)
    return lambda: program["main"](*case.given), lambda: session.run(None, feeds)


def fastest(runs: tuple[Callable[[], object], ...]) -> list[float]:
    """Seconds of a call of each, in turns."""
    best = [float("inf")] * len(runs)
    counts = [max(1, int(_OF_A_TURN / max(_seconds(run, 1), 1e-7))) for run in runs]
    end, turns = time.perf_counter() + _SECONDS * len(runs), 0
    while turns < _TURNS or time.perf_counter() < end:
        for number, run in enumerate(runs):
            best[number] = min(best[number], _seconds(run, counts[number]))
        turns += 1
    return best


def _seconds(run: Callable[[], object], count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        run()
    return (time.thread_time() - start) / count


def main() -> None:
    wanted = sys.argv[1:]
    found: dict[str, float] = {}
    print(f"{'microseconds':<34} {'ours':>9} {'onnxruntime':>12}  ratio")
    for name, case in cases().items():
        if wanted and not any(each in name for each in wanted):
            continue
        ours, theirs = fastest(runs_of(case))
        found[name] = ours / theirs
        print(f"{name:<34} {ours * 1e6:9.1f} {theirs * 1e6:12.1f}  {found[name]:5.2f}", flush=True)
    behind = sorted((ratio, name) for name, ratio in found.items() if ratio > 1.05)
    print(f"geomean {statistics.geometric_mean(found.values()):.2f} of {len(found)}; behind by more than a twentieth:")
    print("".join(f"  {ratio:5.2f}  {name}\n" for ratio, name in behind), end="")


if __name__ == "__main__":
    main()
