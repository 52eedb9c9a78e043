# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MobileNetV2 and BERT as small ONNX models with random weights, and onnxruntime's results for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Of MobileNetV2's stages: how much wider a block is inside, channels, blocks, the first one's stride.
_STAGES = ((1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 2, 2), (6, 24, 1, 1))
_WIDTH, _HEADS, _HIDDEN, _WORDS, _POSITIONS = 24, 3, 40, 50, 16


class Graph:
    """ONNX model under construction. Values are names."""

    def __init__(self) -> None:
        self._random = numpy.random.default_rng(7)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, array: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, *shape: int, around: float = 0.0) -> str:
        """Add a weight with values that shrink with the number of summands. `around` is the mean, for norms."""
        added = 50 if around else numpy.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return self.constant((around + self._random.normal(size=shape) / numpy.sqrt(added)).astype("float32"))

    def model(self, inputs: dict[str, tuple[Any, Any]], output: str) -> onnx.ModelProto:
        given = [helper.make_tensor_value_info(name, *each) for name, each in inputs.items()]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self._nodes, "model", given, [result], self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def mobilenet_v2() -> onnx.ModelProto:
    """Return a model of inverted residuals: expansion, depthwise convolution, projection without relu6."""
    g = Graph()
    zero, six = g.constant(numpy.float32(0)), g.constant(numpy.float32(6))

    def conv(
        x: str, inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1, *, acts: bool = True
    ) -> str:
        filters = g.weight(outputs, inputs // groups, size, size)
        pads = [size // 2] * 4
        x = g("Conv", x, filters, kernel_shape=[size] * 2, strides=[stride] * 2, pads=pads, group=groups)
        mean, scale, offset = g.weight(outputs), g.weight(outputs, around=1.0), g.weight(outputs)
        x = g("BatchNormalization", x, scale, offset, mean, g.constant(numpy.full(outputs, 0.7, "float32")))
        return g("Clip", x, zero, six) if acts else x

    x, channels = conv("image", 3, 8, 3, 2), 8
    for wider, outputs, count, first in _STAGES:
        for stride in (first, *[1] * (count - 1)):
            inside = channels * wider
            y = conv(x, channels, inside, 1) if wider > 1 else x
            y = conv(conv(y, inside, inside, 3, stride, inside), inside, outputs, 1, acts=False)
            x = g("Add", x, y) if stride == 1 and channels == outputs else y
            channels = outputs
    x = g("Flatten", g("GlobalAveragePool", conv(x, channels, 40, 1)))
    x = g("Gemm", x, g.weight(40, 10), g.weight(10))
    return g.model({"image": (TensorProto.FLOAT, ["batch", 3, 36, 36])}, x)


def bert() -> onnx.ModelProto:
    """Two layers over words, of which some are masked; batch and length are dynamic."""
    g = Graph()
    axes, zero = g.constant(numpy.array([1])), g.constant(numpy.array([0]))

    def linear(x: str, inputs: int, outputs: int) -> str:
        return g("Add", g("MatMul", x, g.weight(inputs, outputs)), g.weight(outputs))

    def normed(x: str) -> str:
        return g("LayerNormalization", x, g.weight(_WIDTH, around=1.0), g.weight(_WIDTH), axis=-1, epsilon=1e-5)

    def heads(x: str, order: list[int]) -> str:
        split = g("Reshape", linear(x, _WIDTH, _WIDTH), g.constant(numpy.array([0, 0, _HEADS, _WIDTH // _HEADS])))
        return g("Transpose", split, perm=order)

    length = g("Slice", g("Shape", "ids"), g.constant(numpy.array([1])), g.constant(numpy.array([2])))
    positions = g("Slice", g.weight(_POSITIONS, _WIDTH), zero, length, zero)
    x = normed(g("Add", g("Gather", g.weight(_WORDS, _WIDTH), "ids"), positions))
    hidden = g("Mul", g("Sub", g.constant(numpy.float32(1)), g("Cast", "mask", to=TensorProto.FLOAT)),
               g.constant(numpy.float32(-1e4)))  # fmt: skip
    bias = g("Unsqueeze", hidden, g.constant(numpy.array([1, 2])))
    for _ in range(2):
        query, key, value = heads(x, [0, 2, 1, 3]), heads(x, [0, 2, 3, 1]), heads(x, [0, 2, 1, 3])
        scores = g("Div", g("MatMul", query, key), g.constant(numpy.float32(numpy.sqrt(_WIDTH // _HEADS))))
        met = g("MatMul", g("Softmax", g("Add", scores, bias), axis=-1), value)
        joined = g("Reshape", g("Transpose", met, perm=[0, 2, 1, 3]), g.constant(numpy.array([0, 0, _WIDTH])))
        x = normed(g("Add", x, linear(joined, _WIDTH, _WIDTH)))
        y = linear(x, _WIDTH, _HIDDEN)
        half = g("Mul", y, g.constant(numpy.float32(0.5)))
        y = g("Mul", half, g("Add", g("Erf", g("Div", y, g.constant(numpy.float32(numpy.sqrt(2))))),
                             g.constant(numpy.float32(1))))  # fmt: skip
        x = normed(g("Add", x, linear(y, _HIDDEN, _WIDTH)))
    first = g("Squeeze", g("Slice", x, zero, g.constant(numpy.array([1])), axes), axes)
    inputs = {name: (TensorProto.INT64, ["batch", "length"]) for name in ("ids", "mask")}
    return g.model(inputs, g("Tanh", linear(first, _WIDTH, _WIDTH)))


def image_calls() -> Iterator[dict[str, Any]]:
    for count in (2, 1):
        yield {"image": numpy.random.default_rng(count).random((count, 3, 36, 36), "float32")}


def word_calls() -> Iterator[dict[str, Any]]:
    for shape in ((2, 7), (1, 1), (3, 12)):
        random = numpy.random.default_rng(shape)
        mask = (numpy.arange(shape[1]) < random.integers(1, shape[1] + 1, (shape[0], 1))).astype("int64")
        yield {"ids": random.integers(0, _WORDS, shape), "mask": mask}


def check(model: onnx.ModelProto, call: Callable[..., Any], calls: Iterator[dict[str, Any]], atol: float) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for given in calls:
        (expected,) = session.run(None, given)
        assert numpy.abs(expected).max() > 1e-2
        numpy.testing.assert_allclose(numpy.asarray(call(*given.values())), expected, rtol=0, atol=atol)
