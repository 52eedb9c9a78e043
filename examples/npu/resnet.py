# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ResNet-18 for pictures of 32 x 32 as ONNX: in floating point, or as exporters quantize it."""

from __future__ import annotations

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Value of one quantization step of an activation.
STEP = 0.04


class Network:
    def __init__(self, seed: int = 0, *, is_quantized: bool = True):
        self._is_quantized = is_quantized
        self._random = numpy.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self.constant("step", numpy.float32(STEP))
        self.constant("zero", numpy.int8(0))

    def constant(self, name: str, array: numpy.ndarray) -> str:
        self._constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def add(self, operator: str, *inputs: str, name: str, **attributes: object) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def quantized(self, value: str) -> str:
        if not self._is_quantized:
            return value
        self.add("QuantizeLinear", value, "step", "zero", name=f"{value}_q")
        return self.add("DequantizeLinear", f"{value}_q", "step", "zero", name=f"{value}_d")

    def _weights(self, name: str, shape: tuple[int, ...]) -> list[str]:
        """Add random weights and a bias. Results have the magnitude of the inputs."""
        outputs, fan_in = shape[0], int(numpy.prod(shape[1:]))
        scales = (self._random.uniform(0.8, 1.2, outputs) / (73 * fan_in**0.5)).astype("float32")
        integers = self._random.integers(-127, 128, shape).astype("int8")
        bias = self._random.integers(-2000, 2000, outputs).astype("int32")
        if not self._is_quantized:
            real = integers * scales.reshape(-1, *[1] * (len(shape) - 1)), bias * scales * numpy.float32(STEP)
            return [
                self.constant(f"{name}_{kind}", each.astype("float32"))
                for kind, each in zip(("w", "b"), real, strict=True)
            ]
        made = []
        of_weight, of_bias = ("weight", integers, scales), ("bias", bias, scales * numpy.float32(STEP))
        for kind, array, scale in (of_weight, of_bias):
            zeros = numpy.zeros(outputs, array.dtype)
            parts = {"i": array, "s": scale, "z": zeros}
            names = [self.constant(f"{name}_{kind}_{key}", part) for key, part in parts.items()]
            made.append(self.add("DequantizeLinear", *names, name=f"{name}_{kind}", axis=0))
        return made

    def conv(self, name: str, value: str, into: int, out: int, taps: int, stride: int) -> str:
        weights = self._weights(name, (out, into, taps, taps))
        return self.add("Conv", value, *weights, name=name, pads=[taps // 2] * 4, strides=[stride] * 2)

    def block(self, name: str, value: str, into: int, out: int, stride: int) -> str:
        first = self.add("Relu", self.conv(f"{name}_a", value, into, out, 3, stride), name=f"{name}_a_relu")
        second = self.conv(f"{name}_b", self.quantized(first), out, out, 3, 1)
        if stride != 1 or into != out:
            value = self.quantized(self.conv(f"{name}_c", value, into, out, 1, stride))
        both = self.add("Add", second, value, name=f"{name}_sum")
        return self.quantized(self.add("Relu", both, name=f"{name}_relu"))

    def model(self, result: str, size: int, shape: tuple[int, ...]) -> onnx.ModelProto:
        picture = helper.make_tensor_value_info("picture", TensorProto.FLOAT, (1, 3, size, size))
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self._nodes, "resnet", [picture], [output], self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def resnet18(
    size: int = 32, blocks: int = 2, widths: tuple[int, ...] = (64, 128, 256, 512), *, is_quantized: bool = True
) -> onnx.ModelProto:
    net = Network(is_quantized=is_quantized)
    value = net.add("Relu", net.conv("first", net.quantized("picture"), 3, widths[0], 3, 1), name="first_relu")
    value, into = net.quantized(value), widths[0]
    for number, width in enumerate(widths):
        for step in range(blocks):
            value = net.block(f"layer{number}{step}", value, into, width, 2 if number and not step else 1)
            into = width
    pooled = net.quantized(net.add("GlobalAveragePool", value, name="pool"))
    flat = net.add("Flatten", pooled, name="flat")
    scores = net.add("Gemm", flat, *net._weights("scores", (10, into)), name="scores_out", transB=1)
    return net.model(scores, size, (1, 10))


def picture(size: int = 32, seed: int = 1) -> numpy.ndarray:
    return numpy.random.default_rng(seed).standard_normal((1, 3, size, size)).astype("float32")
