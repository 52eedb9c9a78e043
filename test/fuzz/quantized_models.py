# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random QDQ models like those of onnxruntime's quantizer, with tolerances of their results."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy
import onnx
from onnx import helper, numpy_helper

_OPSET = 20
MOST_LAYERS = 6
_SAMPLES, _VARIANTS = 4, 8
#: Of a step of quantization: how near to the middle between two numbers floats may be rounded either way.
_SHIFT = 0.02


class Drawn(NamedTuple):
    model: onnx.ModelProto
    #: How it was drawn, in words.
    description: str
    inputs: list[Any]
    #: Operators of the float model.
    operators: list[str]


class _Layers:
    """Float model under construction: nodes, weights, and the values so far."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.numbers = numpy.random.default_rng(random.randrange(1 << 30))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        #: Values by shape, without the batch.
        self.values: dict[tuple[int, ...], list[str]] = {}
        self.value, self.shape = "x", self._first_shape()
        self.input_shape = self.shape
        self.values[self.shape] = ["x"]

    def _first_shape(self) -> tuple[int, ...]:
        channels = self.random.choice((1, 3, 4, 8, 16, 17))
        if self.random.random() < 0.5:
            return (self.random.choice((4, 16, 31, 64)),)
        return channels, self.random.choice((5, 8, 9)), self.random.choice((6, 8))

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        array = self.numbers.normal(0, 0.3, shape).astype("float32")
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op: str, inputs: Sequence[str], shape: tuple[int, ...], **attributes: Any) -> None:
        number = len(self.nodes)
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{number}"], name=f"{op}_{number}", **attributes))
        self.value, self.shape = f"v{number}", shape
        self.values.setdefault(shape, []).append(self.value)

    def layer(self) -> None:
        of_any = (self.function, self.residual)
        kinds = (
            (self.product, self.product) if len(self.shape) == 1 else (self.convolution, self.convolution, self.pool)
        )
        self.random.choice((*of_any, *kinds, *kinds))()

    def function(self) -> None:
        op = self.random.choice(("Relu", "Relu", "Clip", "Sigmoid", "LeakyRelu", "Tanh", "Softmax", "HardSwish"))
        limits = []
        if op == "Clip":
            for limit in (0.0, 6.0):
                limits.append(f"w{len(self.weights)}")
                self.weights.append(numpy_helper.from_array(numpy.float32(limit), limits[-1]))
        self.add(op, [self.value, *limits], self.shape)

    def residual(self) -> None:
        other = self.random.choice(self.values[self.shape])
        self.add(self.random.choice(("Add", "Add", "Mul")), [self.value, other], self.shape)

    def product(self) -> None:
        columns = self.random.choice((1, 4, 16, 30, 64))
        (depth,) = self.shape
        if self.random.random() < 0.3:
            self.add("MatMul", [self.value, self.weight(depth, columns)], (columns,))
            return
        is_transposed = self.random.random() < 0.5
        weight = self.weight(columns, depth) if is_transposed else self.weight(depth, columns)
        bias = [self.weight(columns)] if self.random.random() < 0.8 else []
        self.add("Gemm", [self.value, weight, *bias], (columns,), transB=int(is_transposed))

    def convolution(self) -> None:
        channels, *sizes = self.shape
        window, stride = self.random.choice((1, 2, 3)), self.random.choice((1, 1, 2))
        groups = channels if self.random.random() < 0.2 else 1
        outputs = channels if groups > 1 else self.random.choice((1, 4, 8, 16, 18))
        pads = [window // 2] * 4
        sizes = [(size + 2 * (window // 2) - window) // stride + 1 for size in sizes]
        bias = [self.weight(outputs)] if self.random.random() < 0.8 else []
        weight = self.weight(outputs, channels // groups, window, window)
        self.add("Conv", [self.value, weight, *bias], (outputs, *sizes), pads=pads, strides=[stride] * 2, group=groups)

    def pool(self) -> None:
        channels, *sizes = self.shape
        kind = self.random.choice(("MaxPool", "AveragePool", "GlobalAveragePool", "Concat", "Transpose"))
        if kind == "GlobalAveragePool":
            self.add(kind, [self.value], (channels, 1, 1))
            self.add("Flatten", [self.value], (channels,))
        elif kind == "Concat":
            self.add(kind, [self.value, self.random.choice(self.values[self.shape])], (2 * channels, *sizes), axis=1)
        elif kind == "Transpose":
            self.add(kind, [self.value], (channels, *reversed(sizes)), perm=[0, 1, 3, 2])
        elif min(sizes) > 1:
            self.add(
                kind, [self.value], (channels, *(size // 2 for size in sizes)), kernel_shape=[2, 2], strides=[2, 2]
            )

    def model(self) -> onnx.ModelProto:
        x, y = (
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", *shape])
            for name, shape in (("x", self.input_shape), (self.value, self.shape))
        )
        graph = helper.make_graph(self.nodes, "main", [x], [y], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)


def draw(random: Random, most_layers: int = MOST_LAYERS, *, narrow: bool = True) -> Drawn:
    """Draw a model. With `narrow` weights have 7 bits, for CPUs without VNNI."""
    made = _Layers(random)
    count = random.randint(1, MOST_LAYERS)
    options = _options(random, narrow)
    for _ in range(min(count, most_layers)):
        made.layer()
    if not made.nodes:
        made.function()
    arrays = [made.numbers.normal(size=(size, *made.input_shape)).astype("float32") for size in (1, 3)]
    samples = [made.numbers.normal(size=(2, *made.input_shape)).astype("float32") for _ in range(_SAMPLES)]
    operators = [node.op_type for node in made.nodes]
    description = ", ".join(f"{name}={value}" for name, value in options.items())
    return Drawn(_quantized(made.model(), samples, options), f"{' '.join(operators)}; {description}", arrays, operators)


def _options(random: Random, narrow: bool) -> dict[str, Any]:
    activations, weights = random.choice((("QInt8", "QInt8"), ("QUInt8", "QInt8"), ("QUInt8", "QUInt8")))
    more = {name: True for name in ("ActivationSymmetric", "AddQDQPairToWeight", "DedicatedQDQPair")
            if random.random() < 0.25}  # fmt: skip
    return {
        "activation_type": activations,
        "weight_type": weights,
        "per_channel": random.random() < 0.5,
        "reduce_range": random.random() < 0.5 or narrow,
        "extra_options": more,
    }


def _quantized(model: onnx.ModelProto, samples: Sequence[Any], options: dict[str, Any]) -> onnx.ModelProto:
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        def __init__(self) -> None:
            self.left = iter(samples)

        def get_next(self) -> Any:
            found = next(self.left, None)
            return None if found is None else {"x": found}

    types = {name: quantization.QuantType[options[name]] for name in ("activation_type", "weight_type")}
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "f.onnx", Path(folder) / "q.onnx"
        onnx.save(model, source)
        how = quantization.QuantFormat.QDQ
        quantization.quantize_static(source, target, Samples(), quant_format=how, **{**options, **types})
        return onnx.load(target)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without advice on how models are prepared."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


class Expected(NamedTuple):
    """Result of a call, with its tolerance."""

    array: Any
    tolerance: float


def expected(drawn: Drawn) -> list[Expected]:
    """Return the results and tolerances for each input.

    onnxruntime computes the model in floats, and then several times with quantized values moved by a small part of a
    step. The tolerance is the largest change of a result plus one step.
    """
    as_written, *shifted = [
        _computed(model, drawn.inputs)
        for model in (drawn.model, *(_shifted(drawn.model, seed) for seed in range(_VARIANTS)))
    ]
    step, found = _last_step(drawn.model), []
    for number, array in enumerate(as_written):
        moved = max(float(numpy.abs(each[number] - array).max(initial=0)) for each in shifted)
        size = float(numpy.abs(array).max(initial=0))
        found.append(Expected(array, 1.01 * step + 1.5 * moved + 1e-5 * max(size, 1.0)))
    return found


def _computed(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return [session.run(None, {"x": each})[0] for each in inputs]


def _shifted(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """Return the model with quantized values moved up or down."""
    copied, chance = onnx.ModelProto(), Random(seed)
    copied.CopyFrom(model)
    scales = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for number, node in enumerate(model.graph.node):
        if node.op_type == "QuantizeLinear" and node.input[0] not in scales:
            sign = 1 if seed == 0 else -1 if seed == 1 else chance.choice((1, -1))
            shift = numpy.float32(sign * _SHIFT) * scales[node.input[1]].reshape(-1)[0]
            copied.graph.initializer.append(numpy_helper.from_array(numpy.float32(shift), f"shift_{number}"))
            nodes.append(helper.make_node("Add", [node.input[0], f"shift_{number}"], [f"shifted_{number}"]))
            moved = onnx.NodeProto()
            moved.CopyFrom(node)
            moved.input[0] = f"shifted_{number}"
            nodes.append(moved)
        else:
            nodes.append(node)
    del copied.graph.node[:]
    copied.graph.node.extend(nodes)
    return copied


def _last_step(model: onnx.ModelProto) -> float:
    """Return the last step of quantization, if the model's result is dequantized."""
    scales = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    output = model.graph.output[0].name
    found = [node for node in model.graph.node if output in node.output and node.op_type == "DequantizeLinear"]
    return float(max((scales[node.input[1]].max() for node in found), default=0.0))
