# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutional networks on batches of small images, against onnxruntime, on one thread.

    python bench/small_images.py                prints the table
    python bench/small_images.py --only resnet  networks with this text in their names

Networks are built here, with random weights. The two take turns; figures are medians of calls, by the process's CPU
time. "difference" is the largest difference relative to the largest number of the result.
"""

from __future__ import annotations

import os

os.environ.setdefault("RELAX_NUM_THREADS", "1")

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import relax_mlir as rx

SECONDS, FEWEST = 3.0, 5
BATCHES = (1, 8, 16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    print(f"{'ms a call':<16}{'image':>9}{'batch':>7}{'here':>9}{'onnxruntime':>13}{'ratio':>7}{'difference':>12}")
    for name, (build, shapes) in NETWORKS.items():
        if only in name:
            for shape in shapes:
                for batch in BATCHES:
                    row(name, build, (batch, *shape))


def row(name: str, build: Build, shape: tuple[int, ...]) -> None:
    network = Network(shape[1])
    build(network)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(network.model(shape), path)
        call, session = rx.compile(rx.from_onnx(path))["main"], in_onnxruntime(path)
    data = numpy.random.default_rng(0).standard_normal(shape).astype("float32")
    found, (wanted,) = numpy.from_dlpack(call(data)), session.run(None, {"x": data})
    difference = numpy.abs(found - wanted).max() / numpy.abs(wanted).max()
    pairs = list(turns(lambda: call(data), lambda: session.run(None, {"x": data})))
    here, there = (statistics.median(times) * 1e3 for times in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    image = f"{shape[2]}x{shape[3]}"
    print(f"{name:<16}{image:>9}{shape[0]:>7}{here:>9.2f}{there:>13.2f}{ratio:>7.2f}{difference:>12.1e}", flush=True)


def in_onnxruntime(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def turns(*calls: Callable[[], object]) -> Iterator[list[float]]:
    """Yield the seconds of each call, repeatedly."""
    end, count = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end or count < FEWEST:
        yield [seconds(call) for call in calls]
        count += 1


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


# ---- networks ----


class Network:
    """Model that grows by a layer per call. `last` is the name of the last result."""

    def __init__(self, channels: int) -> None:
        self.last, self.channels = "x", channels
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._random = numpy.random.default_rng(0)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        self.last = f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [self.last], name=self.last, **attributes))
        return self.last

    def conv(
        self, count: int, taps: int = 3, stride: int = 1, groups: int = 1, other: str = "", *, relu: bool = True
    ) -> str:
        """Add a convolution to `count` channels with a folded batch norm. `other` is added to its result."""
        shape = (count, self.channels // groups, taps, taps)
        spread = (2 / numpy.prod(shape[1:])) ** 0.5
        weight = self._weight(self._random.standard_normal(shape) * spread)
        bias = self._weight(self._random.standard_normal(count) / 10)
        self.node("Conv", self.last, weight, bias, strides=[stride] * 2, pads=[taps // 2] * 4, group=groups)
        self.channels = count
        if other:
            self.node("Add", self.last, other)
        return self.node("Relu", self.last) if relu else self.last

    def pool(self, tall: int = 2, wide: int = 2) -> None:
        self.node("MaxPool", self.last, kernel_shape=[tall, wide], strides=[tall, wide])

    def _weight(self, values: Any) -> str:
        name = f"weight{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(values.astype("float32"), name))
        return name

    def model(self, shape: tuple[int, ...]) -> Any:
        self.node("GlobalAveragePool", self.last)
        given = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
        result = helper.make_tensor_value_info(self.last, onnx.TensorProto.FLOAT, (shape[0], self.channels, 1, 1))
        graph = helper.make_graph(self._nodes, "network", [given], [result], self._weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


Build = Callable[[Network], None]


def of_blocks(network: Network, *, bottleneck: bool) -> None:
    """Add four stages of two residual blocks each."""
    for stage, width in enumerate((64, 128, 256, 512)):
        for place in range(2):
            stride, count = (2 if stage and not place else 1), width * (4 if bottleneck else 1)
            start, channels = network.last, network.channels
            is_same = stride == 1 and channels == count
            shortcut = start if is_same else network.conv(count, 1, stride, relu=False)
            network.last, network.channels = start, channels
            if bottleneck:
                network.conv(width, 1)
            network.conv(width, 3, stride)
            network.conv(count, 1 if bottleneck else 3, other=shortcut)


def resnet(network: Network) -> None:
    network.conv(64)
    of_blocks(network, bottleneck=False)


def resnet_of_photos(network: Network, *, bottleneck: bool = False) -> None:
    """Add a ResNet for larger images: its last planes have 1x1 or 2x2 positions."""
    network.conv(64, 7, 2)
    network.node("MaxPool", network.last, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    of_blocks(network, bottleneck=bottleneck)


def vgg(network: Network) -> None:
    for count, layers in ((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)):
        for _ in range(layers):
            network.conv(count)
        network.pool()


def mobilenet(network: Network) -> None:
    network.conv(32)
    for count, stride in ((16, 1), (24, 1), (32, 2), (32, 1), (64, 2), (64, 1), (96, 1), (160, 2), (160, 1), (320, 1)):
        start, wide = (network.last, network.channels), network.channels * 6
        network.conv(wide, 1)
        network.conv(wide, 3, stride, groups=wide)
        network.conv(count, 1, other=start[0] if (stride, count) == (1, start[1]) else "", relu=False)
    network.conv(1280, 1)


def text_lines(network: Network) -> None:
    for count, layers, pool in ((64, 1, (2, 2)), (128, 1, (2, 2)), (256, 2, (2, 1)), (512, 2, (2, 1))):
        for _ in range(layers):
            network.conv(count)
        network.pool(*pool)


_SQUARES = ((3, 32, 32), (3, 64, 64))
NETWORKS: dict[str, tuple[Build, tuple[tuple[int, ...], ...]]] = {
    "resnet": (resnet, _SQUARES),
    "resnet18": (resnet_of_photos, _SQUARES),
    "resnet50": (lambda network: resnet_of_photos(network, bottleneck=True), _SQUARES),
    "vgg": (vgg, _SQUARES),
    "mobilenet": (mobilenet, _SQUARES),
    "text lines": (text_lines, ((1, 32, 64), (1, 32, 128))),
}


if __name__ == "__main__":
    main()
