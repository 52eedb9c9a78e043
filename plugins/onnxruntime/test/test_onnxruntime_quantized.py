# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that rx.quantize quantizes and rx.to_onnx writes, run by onnxruntime: results agree within a step."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax

onnxruntime = pytest.importorskip("onnxruntime")
#: A processor with dot products of bytes.
CPU = "llvm{cpu=cascadelake}"
DIGITS = Path(__file__).parents[3] / "examples" / "digits"
random = numpy.random.default_rng(0)


def floats(*shape: int) -> numpy.ndarray:
    return random.standard_normal(shape).astype("float32")


def session_of(module: rx.Module, optimized: Path | None = None) -> Any:
    """Return onnxruntime's session of an exported module. `optimized` receives the fused graph."""
    options = onnxruntime.SessionOptions()
    # Without it, onnxruntime saturates sums of two products of bytes in 16 bits on processors without VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    if optimized is not None:
        options.log_severity_level = 3
        options.optimized_model_filepath = str(optimized)
    model = rx.to_onnx(module).SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def by_onnxruntime(module: rx.Module, x: numpy.ndarray) -> numpy.ndarray:
    session = session_of(module)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def conv_model() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((1, 4, 9, 9), "f32")}) as f:
        (x,) = f
        first = relax.nn.conv2d(x, relax.const(floats(8, 4, 3, 3)), padding=1)
        first = relax.nn.relu(relax.add(first, relax.const(floats(8, 1, 1))))
        second = relax.nn.conv2d(first, relax.const(floats(8, 2, 3, 3)), groups=4, strides=2)
        f.returns(second)
    return module


def linear_model() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((5, 24), "f32")}) as f:
        (x,) = f
        hidden = relax.nn.relu(relax.add(relax.matmul(x, relax.const(floats(24, 32))), relax.const(floats(32))))
        f.returns(relax.matmul(hidden, relax.const(floats(32, 6))))
    return module


def attention_model() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 6, 16), "f32")}) as f:
        (x,) = f
        query, key, value = (relax.matmul(x, relax.const(floats(16, 16))) for _ in range(3))
        scores = relax.matmul(query, relax.permute_dims(key, axes=[0, 2, 1]))
        f.returns(relax.matmul(relax.nn.softmax(scores), value))
    return module


def residual_model() -> rx.Module:
    def conv(x: Any, inputs: int, outputs: int, strides: int = 1) -> Any:
        product = relax.nn.conv2d(x, relax.const(floats(outputs, inputs, 3, 3)), padding=1, strides=strides)
        return relax.add(product, relax.const(floats(outputs, 1, 1)))

    module = rx.Module()
    with module.function("main", {"x": rx.tensor((1, 4, 12, 12), "f32")}) as f:
        first = relax.nn.max_pool2d(relax.nn.relu(conv(*f, 4, 8)), pool_size=2, strides=2)
        inner = conv(relax.nn.relu(conv(first, 8, 8)), 8, 8)
        last = relax.clip(conv(relax.nn.relu(relax.add(inner, first)), 8, 16, strides=2), 0, 6)
        means = relax.reshape(relax.mean(last, axis=[2, 3], keepdims=True), (1, 16))
        f.returns(relax.add(relax.matmul(means, relax.const(floats(16, 10))), relax.const(floats(10))))
    return module


SHAPES = {conv_model: (1, 4, 9, 9), linear_model: (5, 24), attention_model: (2, 6, 16), residual_model: (1, 4, 12, 12)}


@pytest.mark.parametrize("recipe", ["llvm", "onnxruntime"])
@pytest.mark.parametrize("model", SHAPES)
def test_small_models(model, recipe: str) -> None:  # type: ignore[no-untyped-def]
    samples = [floats(*SHAPES[model]) for _ in range(4)]
    quantized = rx.quantize(model(), samples, recipe, calibrate="minmax")
    for x in samples:
        expected = numpy.from_dlpack(rx.compile(quantized.module)["main"](x))
        # Ties may round to either side.
        step = float(numpy.ptp(expected)) / 255
        assert abs(by_onnxruntime(quantized.module, x) - expected).max() <= 1.01 * step


@pytest.mark.parametrize("recipe", ["llvm", "onnxruntime"])
def test_digits(recipe: str) -> None:
    kept = numpy.load(DIGITS / "digits.npz")
    pictures = (kept["pictures"][:, None] / 16).astype("float32")
    quantized = rx.quantize(rx.from_onnx(DIGITS / "digits.onnx"), [pictures[i : i + 1] for i in range(64)], recipe)
    found = by_onnxruntime(quantized.module, pictures)
    ours = numpy.from_dlpack(rx.compile(quantized.module)["main"](pictures))
    assert (found.argmax(1) == kept["labels"]).mean() > 0.99
    assert abs(found - ours).max() < 0.05


def digits_model() -> rx.Module:
    return rx.from_onnx(DIGITS / "digits.onnx")


#: Operators on integers, beside QLinear*, and operators that only move elements.
_OF_INTEGERS = {"QuantizeLinear", "QGemm", "MatMulIntegerToFloat", "MaxPool", "NhwcMaxPool"}
_MOVES = {"Transpose", "Reshape", "Flatten"}


@pytest.mark.parametrize("model", [residual_model, digits_model])
def test_onnxruntime_fuses_each_layer(tmp_path: Path, model: Callable[[], rx.Module]) -> None:
    onnx = pytest.importorskip("onnx")
    shape = SHAPES.get(model, (1, 1, 8, 8))
    quantized = rx.quantize(model(), [abs(floats(*shape)) for _ in range(4)], "onnxruntime", calibrate="minmax")
    session_of(quantized.module, tmp_path / "optimized.onnx")
    operators = {node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node}
    others = {each for each in operators if not each.startswith("QLinear")} - _OF_INTEGERS - _MOVES
    # The digits' model ends with a softmax of real numbers.
    assert others == ({"Softmax"} if model is digits_model else set())
    assert "QLinearConv" in operators


@pytest.mark.parametrize("recipe", ["llvm", "onnxruntime"])
@pytest.mark.parametrize("model", [linear_model, residual_model, digits_model])
def test_a_round_trip_keeps_the_integers(model: Callable[[], rx.Module], recipe: str) -> None:
    samples = [abs(floats(*SHAPES.get(model, (1, 1, 8, 8)))) for _ in range(4)]
    quantized = rx.quantize(model(), samples, recipe, calibrate="minmax").module
    again = rx.from_onnx(rx.to_onnx(quantized))
    stages = rx.stages(CPU).until("integers")
    products = [_products(rx.lower(each, CPU, pipeline=stages)) for each in (quantized, again)]
    assert products[0] == products[1]
    assert products[0]
    assert all(each.endswith(" i32") for each in products[1])
    for x in samples:
        expected, found = (numpy.from_dlpack(rx.compile(each)["main"](x)) for each in (quantized, again))
        assert (found == expected).all()


def _products(module: rx.Module) -> list[str]:
    """Return the names and element types of a lowered module's convolutions and matrix products."""
    return [
        " ".join(each) for each in re.findall(r'"relax\.(nn\.conv2d|matmul)".* -> tensor<[^,>]*x(\w+)', str(module))
    ]
