# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.patterns.quantized_linear and quantized_conv: the layers of front ends, and the names of their operands."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from partitioning import codegen
from relax_mlir.dialects.relax.known_constants import elements_of

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import Match, find, is_const, is_op, quantized_conv, quantized_linear, wildcard

RANDOM = numpy.random.default_rng(4)


def layers(module: rx.Module, **options: Any) -> list[Match]:
    """Return the longest matches in a module as codegens get it."""
    pattern = quantized_linear(**options) | quantized_conv(**options)
    with codegen([("npu.layer", pattern)]):
        stages = rx.stages("llvm", partition="npu").until("partition-input")
        lowered = rx.lower(module, pipeline=stages)
    found = list(find(lowered, pattern))
    inside = [op for match in found for op in match.operations[:-1]]
    return [match for match in found if match.root not in inside]


def numbers(match: Match, *names: str) -> list[Any]:
    return [elements_of(match[name]) for name in names]


# ---- dequantized operands ----


def real(value: Any, scale: Any, zero_point: Any, axis: int = 0) -> Any:
    return relax.dequantize(value, relax.const(numpy.asarray(scale, "float32")), relax.const(zero_point), axis=axis)


def rounded(value: Any, scale: float = 0.5, zero_point: int = -3) -> Any:
    return relax.quantize(value, relax.const(numpy.float32(scale)), relax.const(numpy.int8(zero_point)))


def weights(*shape: int, per_channel: bool = False, axis: int = 0) -> Any:
    count = (shape[axis],) if per_channel else ()
    scale, zero = numpy.full(count, 0.25, "float32"), numpy.zeros(count, "int8")
    return real(relax.const(RANDOM.integers(-9, 9, shape).astype("int8")), scale, zero, axis)


def module_of(shape: Any, body: Any, dtype: str = "int8") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype)]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


BIASES = {
    "none": lambda y, shape: y,
    "reals": lambda y, shape: relax.add(y, relax.const(numpy.ones(shape, "float32"))),
    "integers": lambda y, shape: relax.add(real(relax.const(numpy.ones(shape, "int32")), 0.1, numpy.int32(0)), y),
}
ACTIVATIONS = {"none": lambda y: y, "relu": relax.nn.relu, "relu6": lambda y: relax.clip(y, 0, 6)}


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", BIASES)
def test_layers_of_dequantized_operands(bias: str, activation: str, per_channel: bool) -> None:
    def body(x: Any) -> Any:
        data = real(x, 0.125, numpy.int8(7))
        y = relax.matmul(data, relax.permute_dims(weights(3, 4, per_channel=per_channel)))
        return rounded(ACTIVATIONS[activation](BIASES[bias](y, (3,))))

    (match,) = layers(module_of(("n", 4), body))
    assert match.op("product").operation.name == "relax.matmul"
    assert [len(match.results), len(match.outputs)] == [1, 1]
    x_scale, x_zero, w_scale, y_scale, y_zero = numbers(
        match, "x_scale", "x_zero_point", "w_scale", "y_scale", "y_zero_point"
    )
    assert (x_scale, x_zero, y_scale, y_zero) == (0.125, 7, 0.5, -3) and w_scale.shape == ((3,) if per_channel else ())
    assert elements_of(match["w"]).shape == (4, 3) and match.op("product").x2.owner.axis % 2 == per_channel
    assert [name in match for name in ("bias", "bias_scale")] == [bias != "none", bias == "integers"]
    assert ("activation" in match) == (activation != "none")


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("bias", BIASES)
def test_convolutions(bias: str, layout: str) -> None:
    shape, kernel = ((2, 6, 6), (3, 2, 3, 3)) if layout == "NCHW" else ((6, 6, 2), (3, 3, 2, 3))
    axis = 0 if layout == "NCHW" else 3
    places = (3, 1, 1) if layout == "NCHW" else (3,)

    def body(x: Any) -> Any:
        data, weight = real(x, 0.125, numpy.int8(7)), weights(*kernel, per_channel=True, axis=axis)
        layouts = {"data_layout": layout, "kernel_layout": "OIHW" if layout == "NCHW" else "HWIO"}
        y = relax.nn.conv2d(data, weight, padding=1, strides=[2, 2], **layouts)
        return rounded(relax.nn.relu(BIASES[bias](y, places)))

    (match,) = layers(module_of(("n", *shape), body))
    convolution = match.op("product")
    assert (convolution.strides, convolution.data_layout) == ((2, 2), layout)
    assert ("bias" in match) == (bias != "none") and "activation" in match and len(match.results) == 1


def test_layers_that_read_one_value_are_two() -> None:
    def body(x: Any) -> Any:
        data = real(x, 0.125, numpy.int8(7))
        return tuple(rounded(relax.matmul(data, weights(4, columns))) for columns in (2, 3))

    assert [len(match.results) for match in layers(module_of((5, 4), body))] == [1, 1]


def test_what_a_codegen_asks_for() -> None:
    def body(x: Any) -> Any:
        return relax.nn.gelu(relax.matmul(real(x, 0.125, numpy.int8(7)), weights(4, 2)))

    module = module_of((5, 4), body)
    assert not layers(module)
    (match,) = layers(module, real_results=True)
    assert "y_scale" not in match and "activation" not in match
    (match,) = layers(module, real_results=True, activation=is_op("relax.nn.gelu"))
    assert "activation" in match
    for dtype, count in (("int8", 1), ("uint8", 0)):
        assert len(layers(module, real_results=True, x=wildcard().has_dtype(dtype))) == count
        assert len(layers(module, real_results=True, w=is_const().has_dtype(dtype))) == count


def test_an_activation_behind_the_quantize() -> None:
    def body(x: Any) -> Any:
        y = rounded(relax.matmul(real(x, 0.125, numpy.int8(7)), weights(4, 2)))
        return rounded(relax.nn.relu(real(y, 0.5, numpy.int8(-3))))

    (match,) = layers(module_of((5, 4), body))
    assert match.op("limited").operation.name == "relax.maximum"


def test_a_value_that_others_use_ends_the_layer() -> None:
    """End the layer, since matches have one result."""

    def body(x: Any) -> Any:
        sums = relax.matmul(real(x, 0.125, numpy.int8(7)), weights(4, 2))
        return rounded(relax.nn.relu(sums)), relax.exp(sums)

    module = module_of((5, 4), body)
    assert not layers(module)
    (match,) = layers(module, real_results=True)
    assert [op.name for op in match.operations].count("relax.quantize") == 0


@pytest.mark.parametrize(("columns", "number"), [(3, 0), (2000, 0), (2000, None)])
def test_zero_points_that_are_one_number(columns: int, number: int | None) -> None:
    """Recognize a single zero point of any number of columns: large constants are stored differently."""
    zeros = numpy.zeros(columns, "int8") if number == 0 else numpy.arange(columns).astype("int8")

    def body(x: Any) -> Any:
        w = relax.const(numpy.ones((2, columns), "int8"))
        return rounded(relax.matmul(real(x, 0.125, numpy.int8(7)), real(w, 1, zeros, axis=1)))

    (match,) = layers(module_of((5, 2), body))
    assert match.number("w_zero_point") == number


# ---- layers of front ends ----


def onnx_layer(node: str, zero_point: int, has_bias: bool, per_channel: bool) -> Any:
    """Return a model of one QOperator operator."""
    onnx = pytest.importorskip("onnx", reason="models are made with onnx: it comes with the extra `onnx`")
    helper, types = onnx.helper, onnx.TensorProto
    shape = {"QLinearConv": (3, 2, 3, 3), "QGemm": (3, 4), "QLinearMatMul": (4, 3)}[node]
    sizes = ["n", 2, 6, 6] if node == "QLinearConv" else ["n", 4]
    count = (3,) if per_channel else ()
    known = {
        "x_scale": numpy.float32(0.125),
        "x_zero": numpy.uint8(zero_point),
        "w": RANDOM.integers(-9, 9, shape).astype("int8"),
        "w_scale": numpy.full(count, 0.25, "float32"),
        "w_zero": numpy.zeros(count, "int8"),
        "y_scale": numpy.float32(0.5),
        "y_zero": numpy.uint8(100),
        "bias": numpy.array([5, 6, 7], "int32"),
    }
    x, w, y = ["x", "x_scale", "x_zero"], ["w", "w_scale", "w_zero"], ["y_scale", "y_zero"]
    inputs = {
        "QLinearConv": [*x, *w, *y, *["bias"] * has_bias], "QLinearMatMul": [*x, *w, *y],
        "QGemm": [*x, *w, "bias" if has_bias else "", *y],
    }[node]  # fmt: skip
    domain = "com.microsoft" if node == "QGemm" else ""
    made = helper.make_node(node, inputs, ["y"], domain=domain, **({"transB": 1} if node == "QGemm" else {}))
    given = helper.make_tensor_value_info("x", types.UINT8, sizes)
    result = helper.make_tensor_value_info("y", types.UINT8, None)
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in known.items() if name in inputs]
    graph = helper.make_graph([made], "graph", [given], [result], constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("zero_point", [0, 9])
@pytest.mark.parametrize(
    ("node", "has_bias"), [("QLinearMatMul", False), ("QGemm", False), ("QGemm", True), ("QLinearConv", True)]
)
def test_layers_of_integers(node: str, has_bias: bool, zero_point: int, per_channel: bool) -> None:
    (match,) = layers(rx.from_onnx(onnx_layer(node, zero_point, has_bias, per_channel)))
    (scale, y_scale, y_zero) = numbers(match, "scale", "y_scale", "y_zero_point")
    assert numpy.ravel(scale)[0] == 0.125 * 0.25 and (y_scale, y_zero) == (0.5, 100)
    assert str(match["x"].type.element_type) == "ui8" and elements_of(match["w"]).dtype == "int8"
    assert ("x_zero_point" in match) == bool(zero_point) and ("bias" in match) == has_bias
    if zero_point:
        assert elements_of(match["x_zero_point"]) == zero_point


@pytest.mark.parametrize(("channels", "padded"), [(1, 1), (2, 4), (3, 4), (4, 4)])
def test_input_channels_are_padded_to_four(channels: int, padded: int) -> None:
    """Dot products take four bytes. For one channel, the other three would be wasted."""

    def layer(x: Any) -> Any:
        return relax.nn.conv2d(real(x, 0.5, numpy.int8(3)), weights(8, channels, 3, 3, per_channel=True))

    module = module_of((1, channels, 6, 6), lambda x: rounded(layer(x)))
    rx.Pipeline(["relax-propagate-quantization"]).run(module)
    assert f"tensor<8x{padded}x3x3xi8>" in str(module)
