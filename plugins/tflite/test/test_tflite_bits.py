# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-requantize with rx.Requantize.tflite() against LiteRT's reference kernels, in each bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from relax_mlir.patterns import GraphPattern, is_op, wildcard
from relax_mlir.recipes import Op, Recipe
from tflite_model import Operator, Quantized, Subgraph, Tensor, constant, written

_IMAGE = (1, 9, 13, 16)
_FUSED = ("none", "relu", "relu -1 to 1", "relu6")
_OTHERS = "sigmoid tanh nn.softmax nn.avg_pool2d mean image.resize2d concat subtract multiply".split()


@rx.codegens.register_codegen("litert_bits")
class Chip(rx.codegens.Codegen):
    patterns = ()


def _limited(pattern: GraphPattern) -> GraphPattern:
    return pattern.optional(lambda y: is_op("relax.nn.relu", "relax.clip")(y, ...))


def _layer(name: str) -> GraphPattern:
    product = is_op(f"relax.{name}")(wildcard(), wildcard())
    return _limited(product.optional(lambda y: is_op("relax.add")(y, wildcard())))


def _recipe() -> Recipe:
    out = rx.Requantize.tflite()
    layers = [Op(name, pattern=_layer(name), y="i8", out=out) for name in ("nn.conv2d", "matmul")]
    others = [_limited(is_op("relax.add")), *(_limited(is_op(f"relax.{name}")) for name in _OTHERS)]
    return Recipe(*layers, *(Op(f"other {n}", pattern=each, y="i8", out=out) for n, each in enumerate(others)))


@pytest.fixture(autouse=True)
def recipe() -> Iterator[None]:
    Chip.recipe = _recipe()
    yield
    Chip.recipe = None


class Draw:
    """Random scales, zero points and tensors."""

    def __init__(self, seed: int) -> None:
        self.random = numpy.random.default_rng(seed)

    def scale(self, low: float = 0.005, high: float = 0.1) -> float:
        return float(numpy.float32(numpy.exp(self.random.uniform(numpy.log(low), numpy.log(high)))))

    def quantized(self, low: float = 0.005, high: float = 0.1) -> Quantized:
        return Quantized(self.scale(low, high), int(self.random.integers(-128, 128)))

    def tensor(self, shape: Sequence[int], low: float = 0.005, high: float = 0.1) -> Tensor:
        return Tensor(shape, "int8", quantized=self.quantized(low, high))

    def integers(self, shape: Sequence[int]) -> Any:
        data = self.random.integers(-128, 128, shape).astype("int8")
        data.flat[:2] = -128, 127
        return data

    def weights(self, shape: Sequence[int], scale: float | list[float], axis: int) -> Tensor:
        return constant(self.random.integers(-127, 128, shape), "int8", Quantized(scale, 0, axis))


def check(path: Path, draw: Draw, tensors: list[Tensor], operator: Operator, arguments: int) -> None:
    """Compare the integers of a module of one operator with the interpreter's."""
    data = written(Subgraph(tensors, [operator], range(arguments), operator.outputs))
    (path / "layer.tflite").write_bytes(data)
    module = rx.from_tflite(path / "layer.tflite")
    rx.Pipeline("builtin.module(relax-canonicalize-layers,relax-requantize{recipe=litert_bits})").run(module)
    assert "R.dequantize(" not in module.script(elide=True)
    given = [draw.integers(each.shape) for each in tensors[:arguments]]
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for detail, each in zip(interpreter.get_input_details(), given, strict=True):
        interpreter.set_tensor(detail["index"], each)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    numpy.testing.assert_array_equal(numpy.asarray(rx.reference(module)["main"](*given)), expected)
    assert len(numpy.unique(expected)) > 4


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("activation", range(4), ids=_FUSED)
def test_elementwise(tmp_path: Path, name: str, activation: int) -> None:
    draw = Draw(activation)
    tensors = [draw.tensor(_IMAGE), draw.tensor(_IMAGE[3:]), draw.tensor(_IMAGE, 0.01, 0.2)]
    options = {"fused_activation_function": activation}
    check(tmp_path, draw, tensors, Operator(name, [0, 1], [2], options, name.capitalize()), 2)


@pytest.mark.parametrize(("name", "result"), [("LOGISTIC", Quantized(1 / 256, -128)), ("TANH", Quantized(1 / 128, 0))])
def test_functions(tmp_path: Path, name: str, result: Quantized) -> None:
    for seed in range(8):
        draw = Draw(seed)
        tensors = [draw.tensor((1, 4096)), Tensor((1, 4096), "int8", quantized=result)]
        check(tmp_path, draw, tensors, Operator(name, [0], [1]), 1)


@pytest.mark.parametrize("count", [2, 10, 40])
def test_softmax(tmp_path: Path, count: int) -> None:
    for low in (0.001, 0.02, 0.3):
        draw = Draw(count)
        tensors = [draw.tensor((40, count), low, 4 * low)]
        tensors.append(Tensor((40, count), "int8", quantized=Quantized(1 / 256, -128)))
        check(tmp_path, draw, tensors, Operator("SOFTMAX", [0], [1], {"beta": 1.0}, "Softmax"), 1)


@pytest.mark.parametrize("padding", [0, 1], ids=["same", "valid"])
def test_average_pools(tmp_path: Path, padding: int) -> None:
    draw = Draw(padding)
    quantized = draw.quantized()
    sizes = {"stride_h": 2, "stride_w": 2, "filter_height": 3, "filter_width": 2}
    result = (1, 4, 6, 16) if padding else (1, 5, 7, 16)
    tensors = [Tensor(shape, "int8", quantized=quantized) for shape in (_IMAGE, result)]
    check(tmp_path, draw, tensors, Operator("AVERAGE_POOL_2D", [0], [1], {"padding": padding, **sizes}, "Pool2D"), 1)


def test_means(tmp_path: Path) -> None:
    for seed in range(8):
        draw = Draw(seed)
        x = Tensor(_IMAGE, "int8", quantized=Quantized(draw.scale(), seed - 4))
        result = Quantized(draw.scale(0.5, 2) * x.quantized.scale, 9)  # type: ignore[operator, union-attr]
        tensors = [x, constant([1, 2]), Tensor((1, 1, 1, 16), "int8", quantized=result)]
        check(tmp_path, draw, tensors, Operator("MEAN", [0, 1], [2], {"keep_dims": True}, "Reducer"), 1)


@pytest.mark.parametrize("kind", ["ResizeBilinear", "ResizeNearestNeighbor"])
@pytest.mark.parametrize("mode", [(True, False), (False, True), (False, False)], ids=["half", "corners", "asymmetric"])
def test_resized_images(tmp_path: Path, kind: str, mode: tuple[bool, bool]) -> None:
    draw = Draw(0)
    quantized, result = draw.quantized(), (1, 14, 31, 16)
    tensors = [Tensor(_IMAGE, "int8", quantized=quantized), constant(result[1:3])]
    tensors.append(Tensor(result, "int8", quantized=quantized))
    name = {"ResizeBilinear": "RESIZE_BILINEAR", "ResizeNearestNeighbor": "RESIZE_NEAREST_NEIGHBOR"}[kind]
    options = dict(zip(("half_pixel_centers", "align_corners"), mode, strict=True))
    check(tmp_path, draw, tensors, Operator(name, [0, 1], [2], options, kind), 1)


def test_concatenation(tmp_path: Path) -> None:
    draw = Draw(0)
    quantized = draw.quantized()
    tensors = [Tensor(shape, "int8", quantized=quantized) for shape in (_IMAGE, _IMAGE, (1, 9, 13, 32))]
    check(tmp_path, draw, tensors, Operator("CONCATENATION", [0, 1], [2], {"axis": 3}, "Concatenation"), 2)


@pytest.mark.parametrize("activation", range(4), ids=_FUSED)
@pytest.mark.parametrize("kind", ["Conv2D", "DepthwiseConv2D"])
def test_convolutions(tmp_path: Path, kind: str, activation: int) -> None:
    draw = Draw(activation)
    x, scales = draw.quantized(), [draw.scale(0.002, 0.02) for _ in range(16)]
    is_full = kind == "Conv2D"
    weights = draw.weights((16, 3, 3, 16) if is_full else (1, 3, 3, 16), scales, 0 if is_full else 3)
    bias = Quantized([x.scale * each for each in scales])  # type: ignore[operator]
    tensors = [Tensor(_IMAGE, "int8", quantized=x), weights]
    tensors.append(constant(draw.random.integers(-3000, 3000, 16), "int32", bias))
    tensors.append(draw.tensor((1, 5, 7, 16), 0.05, 0.2))
    options = {"padding": 0, "stride_h": 2, "stride_w": 2, "dilation_h_factor": 1, "dilation_w_factor": 1}
    options |= {"fused_activation_function": activation} | ({} if is_full else {"depth_multiplier": 1})
    name = "CONV_2D" if is_full else "DEPTHWISE_CONV_2D"
    check(tmp_path, draw, tensors, Operator(name, [0, 1, 2], [3], options, kind), 1)


def test_products(tmp_path: Path) -> None:
    """Scales of powers of two: the interpreter multiplies other ones of FULLY_CONNECTED in f32."""
    draw = Draw(0)
    x, scale = Quantized(2**-5, 7), 2**-7
    tensors = [Tensor((9, 64), "int8", quantized=x), draw.weights((16, 64), scale, 0)]
    tensors.append(constant(draw.random.integers(-3000, 3000, 16), "int32", Quantized(2**-12)))
    tensors.append(draw.tensor((9, 16), 0.05, 0.2))
    check(tmp_path, draw, tensors, Operator("FULLY_CONNECTED", [0, 1, 2], [3], {}, "FullyConnected"), 1)
    tensors = [draw.tensor((3, 7, 33)), draw.tensor((3, 33, 9)), Tensor((3, 7, 9), "int8", quantized=Quantized(2.5, 3))]
    check(tmp_path, draw, tensors, Operator("BATCH_MATMUL", [0, 1], [2], {}, "BatchMatMul"), 2)
