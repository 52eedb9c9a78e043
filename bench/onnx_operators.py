# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TopK, Unique and quantized operators of ONNX models, compiled here and in onnxruntime, on one thread each.

    python bench/onnx_operators.py                  prints the table
    python bench/onnx_operators.py --only unique    operators with this text in their names

Figures are CPU microseconds per call, the fastest of a few seconds in which both take turns, and the median of the
ratios: below 1 is faster here.
"""

from __future__ import annotations

import os

os.environ.setdefault("RELAX_NUM_THREADS", "1")

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import relax_mlir as rx

SECONDS, FEWEST, LEAST = 2.0, 7, 0.004
_RANDOM = numpy.random.default_rng(0)


class Case(NamedTuple):
    """Model of one node or several, and data."""

    name: str
    nodes: list[onnx.NodeProto]
    results: list[str]
    data: Mapping[str, Any]
    constants: Mapping[str, Any]

    def model(self) -> onnx.ModelProto:
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
            for name, each in self.data.items()
        ]
        held = [numpy_helper.from_array(each, name) for name, each in self.constants.items()]
        results = [onnx.ValueInfoProto(name=name) for name in self.results]
        graph = helper.make_graph(self.nodes, "g", given, results, held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def floats(*shape: int) -> Any:
    return _RANDOM.standard_normal(shape).astype("float32")


def integers(shape: tuple[int, ...], dtype: str) -> Any:
    info = numpy.iinfo(dtype)
    return _RANDOM.integers(info.min, info.max, shape, dtype, endpoint=True)


# ---- selection ----

_TOPS = (
    ((1, 1000), 5), ((64, 1000), 10), ((100, 500), 5), ((1, 100_000), 100), ((1, 100_000), 1000), ((1, 25_200), 300),
    ((16, 64), 64), ((1, 8400, 80), 1),
)  # fmt: skip
_DISTINCT = ((1000, 50), (10_000, 100), (10_000, 2**40), (100_000, 1000), (100_000, 2**40))


def selections() -> Iterator[Case]:
    for shape, k in _TOPS:
        node = helper.make_node("TopK", ["x", "k"], ["v", "i"])
        yield Case(f"topk {shape} k={k}", [node], ["v", "i"], {"x": floats(*shape)}, {"k": numpy.array([k])})
    for count, high in _DISTINCT:
        data = {"x": _RANDOM.integers(0, high, count)}
        for is_sorted in (1, 0):
            names = ["y", "i", "inv", "c"] if is_sorted else ["y"]
            node = helper.make_node("Unique", ["x"], names, sorted=is_sorted)
            yield Case(f"unique {count} below {high}, sorted={is_sorted}", [node], names, data, {})
    both = [helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("Unique", ["i"], ["y", "a", "b", "c"])]
    yield Case("topk, then unique", both, ["v", "y", "c"], {"x": floats(64, 1000)}, {"k": numpy.array([50])})


# ---- quantized operators ----

#: Batch, channels, size, filters, taps, groups, stride.
_CONVOLUTIONS = (
    (1, 64, 56, 64, 3, 1, 1), (1, 64, 56, 256, 1, 1, 1), (1, 3, 224, 32, 3, 1, 2), (1, 64, 56, 64, 3, 64, 1),
    (8, 32, 16, 64, 3, 1, 1), (1, 256, 14, 256, 3, 1, 1),
)  # fmt: skip
_PRODUCTS = ((1, 768, 768), (128, 768, 768), (128, 768, 3072), (16, 64, 10))


def _scalars(weight: str) -> dict[str, Any]:
    zero = numpy.array(128 if weight == "uint8" else 0, weight)
    return {"xs": numpy.float32(0.02), "xz": numpy.uint8(128), "ws": numpy.float32(0.01), "wz": zero,
            "ys": numpy.float32(0.5), "yz": numpy.uint8(120)}  # fmt: skip


def quantized() -> Iterator[Case]:
    for weight in ("uint8", "int8"):
        for batch, channels, size, filters, taps, groups, stride in _CONVOLUTIONS:
            node = helper.make_node(
                "QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], kernel_shape=[taps] * 2,
                pads=[taps // 2] * 4, group=groups, strides=[stride] * 2,
            )  # fmt: skip
            held = {**_scalars(weight), "w": integers((filters, channels // groups, taps, taps), weight)}
            data = {"x": integers((batch, channels, size, size), "uint8")}
            name = f"QLinearConv {weight} {batch}x{channels}x{size}x{size} {filters} {taps}x{taps} /{stride} g{groups}"
            yield Case(name, [node], ["y"], data, {name: numpy.asarray(each) for name, each in held.items()})
        for rows, depth, columns in _PRODUCTS:
            data = {"x": integers((rows, depth), "uint8")}
            scalars = {name: numpy.asarray(each) for name, each in _scalars(weight).items()}
            held = {"w": integers((depth, columns), weight), **scalars}
            node = helper.make_node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])
            yield Case(f"QLinearMatMul {weight} {rows}x{depth}x{columns}", [node], ["y"], data, held)
            node = helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])
            used = {name: held[name] for name in ("w", "xz", "wz")}
            yield Case(f"MatMulInteger {weight} {rows}x{depth}x{columns}", [node], ["y"], data, used)


# ---- measuring ----


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    print(f"{'microseconds a call':<48}{'here':>10}{'onnxruntime':>13}{'ratio':>7}")
    for case in (*selections(), *quantized()):
        if only in case.name:
            row(case)


def row(case: Case) -> None:
    model = case.model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    call, arguments = rx.compile(rx.from_onnx(model))["main"], list(case.data.values())
    pairs = list(turns(lambda: call(*arguments), lambda: session.run(None, dict(case.data))))
    here, there = (min(times) * 1e6 for times in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    print(f"{case.name:<48}{here:>10.1f}{there:>13.1f}{ratio:>7.2f}", flush=True)


def turns(*calls: Callable[[], object]) -> Iterator[list[float]]:
    """Yield the seconds of a call of each, in turns."""
    for call in calls:
        call()
    count = max(1, int(LEAST / max(seconds(calls[0], 1), 1e-7)))
    end, done = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end or done < FEWEST:
        yield [seconds(call, count) for call in calls]
        done += 1


def seconds(call: Callable[[], object], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


if __name__ == "__main__":
    main()
