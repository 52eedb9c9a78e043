# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-requantize with rx.Requantize.tflite() against LiteRT's reference kernels, in each bit.

Thousands of sums tell roundings apart: of 10,000 random sums about 10 differ between one and two roundings.
"""

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

_IMAGE = (1, 20, 21, 16)
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


def _recipe(out: rx.Requantize) -> Recipe:
    """Return entries for all layers. The patterns take operands of all types."""
    layers = [Op(name, pattern=_layer(name), y=("i8", "i16"), out=out) for name in ("nn.conv2d", "matmul")]
    others = [_limited(is_op("relax.add")), *(_limited(is_op(f"relax.{name}")) for name in _OTHERS)]
    return Recipe(*layers, *(Op(f"other {n}", pattern=each, y=("i8", "i16"), out=out) for n, each in enumerate(others)))


@pytest.fixture(autouse=True)
def recipe() -> Iterator[None]:
    Chip.recipe = _recipe(rx.Requantize.tflite())
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

    def integers(self, tensor: Tensor) -> Any:
        limits = numpy.iinfo(tensor.dtype)
        data = self.random.integers(limits.min, limits.max, tensor.shape, tensor.dtype, endpoint=True)
        data.flat[:2] = limits.min, limits.max
        return data

    def weights(self, shape: Sequence[int], scale: float | list[float], axis: int) -> Tensor:
        return constant(self.random.integers(-127, 128, shape), "int8", Quantized(scale, 0, axis))


def check(
    path: Path,
    draw: Draw,
    tensors: Sequence[Tensor],
    operator: Operator,
    arguments: int,
    kernels: OpResolverType = OpResolverType.BUILTIN_REF,
) -> None:
    """Compare the integers of a module of one operator with the interpreter's."""
    data = written(Subgraph(tensors, [operator], range(arguments), operator.outputs))
    (path / "layer.tflite").write_bytes(data)
    module = rx.from_tflite(path / "layer.tflite")
    rx.Pipeline("builtin.module(relax-canonicalize-layers,relax-requantize{recipe=litert_bits})").run(module)
    assert "R.dequantize(" not in module.script(elide=True)
    given = [draw.integers(each) for each in tensors[:arguments]]
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    for detail, each in zip(interpreter.get_input_details(), given, strict=True):
        interpreter.set_tensor(detail["index"], each)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    numpy.testing.assert_array_equal(numpy.asarray(rx.reference(module)["main"](*given)), expected)
    assert len(numpy.unique(expected)) > 3


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("activation", range(4), ids=_FUSED)
def test_elementwise(tmp_path: Path, name: str, activation: int) -> None:
    draw = Draw(activation)
    tensors = [draw.tensor(_IMAGE), draw.tensor(_IMAGE[3:]), draw.tensor(_IMAGE, 0.01, 0.2)]
    options = {"fused_activation_function": activation}
    check(tmp_path, draw, tensors, Operator(name, [0, 1], [2], options, name.capitalize()), 2)


@pytest.mark.parametrize(("name", "version"), [("ADD", 3), ("SUB", 5), ("MUL", 4)])
def test_elementwise_of_16_bits(tmp_path: Path, name: str, version: int) -> None:
    draw = Draw(version)
    # The interpreter computes MUL's multiplier in f32: one scale that is no power of two keeps it exact.
    scales = (2**-12, draw.scale(1e-5, 1e-3), 2**-9) if name == "MUL" else [draw.scale(1e-4, 1e-3) for _ in range(3)]
    tensors = [Tensor(_IMAGE, "int16", quantized=Quantized(each)) for each in scales]
    options: dict[str, Any] = {"fused_activation_function": 0} | ({} if name == "MUL" else {"pot_scale_int16": False})
    check(tmp_path, draw, tensors, Operator(name, [0, 1], [2], options, name.capitalize(), version=version), 2)


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
    result = (1, 9, 10, 16) if padding else (1, 10, 11, 16)
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
    quantized, result = draw.quantized(), (1, 31, 47, 16)
    tensors = [Tensor(_IMAGE, "int8", quantized=quantized), constant(result[1:3])]
    tensors.append(Tensor(result, "int8", quantized=quantized))
    name = {"ResizeBilinear": "RESIZE_BILINEAR", "ResizeNearestNeighbor": "RESIZE_NEAREST_NEIGHBOR"}[kind]
    options = dict(zip(("half_pixel_centers", "align_corners"), mode, strict=True))
    check(tmp_path, draw, tensors, Operator(name, [0, 1], [2], options, kind), 1)


def test_concatenation(tmp_path: Path) -> None:
    draw = Draw(0)
    quantized = draw.quantized()
    tensors = [Tensor(shape, "int8", quantized=quantized) for shape in (_IMAGE, _IMAGE, (1, 20, 21, 32))]
    check(tmp_path, draw, tensors, Operator("CONCATENATION", [0, 1], [2], {"axis": 3}, "Concatenation"), 2)


def convolution(draw: Draw, kind: str, scales: list[float], activation: int = 0) -> tuple[list[Tensor], Operator]:
    """Return the tensors and the operator of a convolution of _IMAGE with these scales of weights."""
    x, is_full = Quantized(2**-5, 9), kind == "Conv2D"
    weights = draw.weights((16, 3, 3, 16) if is_full else (1, 3, 3, 16), scales, 0 if is_full else 3)
    bias = Quantized([2**-5 * each for each in scales])
    tensors = [Tensor(_IMAGE, "int8", quantized=x), weights]
    tensors.append(constant(draw.random.integers(-3000, 3000, 16), "int32", bias))
    tensors.append(Tensor(_IMAGE, "int8", quantized=Quantized(0.5 if is_full else 0.125, -11)))
    options = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    options |= {"fused_activation_function": activation} | ({} if is_full else {"depth_multiplier": 1})
    return tensors, Operator("CONV_2D" if is_full else "DEPTHWISE_CONV_2D", [0, 1, 2], [3], options, kind)


@pytest.mark.parametrize("activation", range(4), ids=_FUSED)
@pytest.mark.parametrize("kind", ["Conv2D", "DepthwiseConv2D"])
def test_convolutions(tmp_path: Path, kind: str, activation: int) -> None:
    draw = Draw(activation)
    scales = [draw.scale(0.002, 0.02) for _ in range(16)]
    check(tmp_path, draw, *convolution(draw, kind, scales, activation), 1)


def test_batched_products(tmp_path: Path) -> None:
    draw = Draw(0)
    result = Tensor((3, 100, 40), "int8", quantized=Quantized(2.5, 3))
    tensors = [draw.tensor((3, 100, 33)), draw.tensor((3, 33, 40)), result]
    check(tmp_path, draw, tensors, Operator("BATCH_MATMUL", [0, 1], [2], {}, "BatchMatMul"), 2)


def fully_connected(draw: Draw) -> tuple[list[Tensor], Operator]:
    """Return a layer with scales of powers of two, which have ties."""
    tensors = [Tensor((300, 64), "int8", quantized=Quantized(2**-5, 7)), draw.weights((16, 64), 2**-7, 0)]
    tensors.append(constant(draw.random.integers(-3000, 3000, 16), "int32", Quantized(2**-12)))
    tensors.append(Tensor((300, 16), "int8", quantized=Quantized(2**-3, -9)))
    return tensors, Operator("FULLY_CONNECTED", [0, 1, 2], [3], {}, "FullyConnected", version=4)


def test_fully_connected_rounds_once(tmp_path: Path) -> None:
    """Unlike other reference kernels, FULLY_CONNECTED of LiteRT rounds once, ties away from zero."""
    Chip.recipe = _recipe(rx.Requantize("q31>>shift", rounding="half_away"))
    draw = Draw(0)
    check(tmp_path, draw, *fully_connected(draw), 1)


def test_xnnpack_multiplies_in_f32(tmp_path: Path) -> None:
    """The default kernels are XNNPACK's, which have one f32 product, ties to even."""
    Chip.recipe = _recipe(rx.Requantize("float", rounding="half_even"))
    draw = Draw(0)
    for kind in ("Conv2D", "DepthwiseConv2D"):
        scales = [2.0 ** -int(each) for each in draw.random.integers(4, 9, 16)]
        check(tmp_path, draw, *convolution(draw, kind, scales), 1, OpResolverType.BUILTIN)
    check(tmp_path, draw, *fully_connected(draw), 1, OpResolverType.BUILTIN)
    scales = (2**-4, 2**-5, 2**-3)
    tensors = [Tensor(_IMAGE, "int8", quantized=Quantized(each, -7)) for each in scales]
    check(tmp_path, draw, tensors, Operator("MUL", [0, 1], [2], {}, "Mul"), 2, OpResolverType.BUILTIN)
