# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Biases in rx.to_onnx: a constant bias is an operand of Conv and Gemm if only the add reads the product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

pytest.importorskip("onnx")
RANDOM = numpy.random.default_rng(5)


def floats(*shape: int) -> Any:
    return relax.const(RANDOM.standard_normal(shape).astype("float32"))


def integers(shape: tuple[int, ...], scales: int, zero_point: int = 0, axis: int = 0) -> Any:
    """Return dequantized i32 with a scale, or with scales along an axis."""
    numbers = relax.const(RANDOM.integers(-99, 99, shape).astype("int32"))
    scale = numpy.linspace(0.01, 0.1, scales, dtype="float32") if scales else numpy.float32(0.01)
    zero = numpy.full(numpy.shape(scale), zero_point, "int32")
    return relax.dequantize(numbers, relax.const(scale), relax.const(zero), axis=axis)


def module_of(shape: tuple[Any, ...], body: Callable[[Any], Any]) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(shape, "f32")}) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def conv(x: Any, **attributes: Any) -> Any:
    return relax.nn.conv2d(x, floats(8, 4, 3, 3), **attributes)


def checked(module: rx.Module, shape: tuple[int, ...]) -> list[str]:
    """Return the operators of the exported model, after a check of the results of its round trip."""
    model = rx.to_onnx(module)
    x = RANDOM.standard_normal(shape).astype("float32")
    expected, found = (rx.compile(each)["main"](x) for each in (module, rx.from_onnx(model)))
    for one, other in zip(
        *([each] if not isinstance(each, tuple) else each for each in (expected, found)), strict=True
    ):
        numpy.testing.assert_allclose(numpy.from_dlpack(other), numpy.from_dlpack(one), rtol=1e-4, atol=1e-4)
    assert [node.output[0] for node in model.graph.node][-1] == model.graph.output[-1].name
    return [node.op_type for node in model.graph.node]


IMAGE = (2, 4, 7, 7)
CONVOLUTIONS: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "reals": (lambda x: relax.add(conv(x), floats(8, 1, 1)), ["Conv"]),
    "first": (lambda x: relax.add(floats(1, 8, 1, 1), conv(x)), ["Conv"]),
    "i32": (lambda x: relax.add(conv(x), integers((8, 1, 1), 8)), ["DequantizeLinear", "Conv"]),
    "i32 of rank 4": (lambda x: relax.add(conv(x), integers((1, 8, 1, 1), 8, axis=1)), ["DequantizeLinear", "Conv"]),
    "one scale": (lambda x: relax.add(conv(x), integers((8, 1, 1), 0)), ["DequantizeLinear", "Conv"]),
    "transposed": (
        lambda x: relax.add(relax.nn.conv2d_transpose(x, floats(4, 8, 3, 3)), floats(8, 1, 1)),
        ["ConvTranspose"],
    ),
    "another axis": (lambda x: relax.add(conv(x, padding=1), floats(7)), ["Conv", "Add"]),
    "whole pictures": (lambda x: relax.add(conv(x, padding=1), floats(8, 7, 7)), ["Conv", "Add"]),
    "one number": (lambda x: relax.add(conv(x), floats()), ["Conv", "Add"]),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    body, operators = CONVOLUTIONS[name]
    assert checked(module_of(IMAGE, body), IMAGE) == operators


def test_a_zero_point_keeps_the_add() -> None:
    module = module_of(IMAGE, lambda x: relax.add(conv(x), integers((8, 1, 1), 8, zero_point=3)))
    operators = checked(module, IMAGE)
    assert "DequantizeLinear" not in operators
    assert operators[-1] == "Add"


def test_channels_last() -> None:
    def body(x: Any) -> Any:
        product = relax.nn.conv2d(x, floats(3, 3, 4, 8), data_layout="NHWC", kernel_layout="HWIO")
        return relax.add(product, floats(8))

    shape = (2, 7, 7, 4)
    operators = checked(module_of(shape, body), shape)
    assert "Add" not in operators
    assert "Conv" in operators


def test_another_reader_keeps_the_add() -> None:
    def body(x: Any) -> Any:
        product = conv(x)
        return relax.nn.relu(product), relax.add(product, floats(8, 1, 1))

    assert checked(module_of(IMAGE, body), IMAGE) == ["Conv", "Relu", "Add"]


def test_the_same_product_twice_keeps_the_add() -> None:
    def body(x: Any) -> Any:
        product = conv(x)
        return relax.add(product, product)

    assert checked(module_of(IMAGE, body), IMAGE) == ["Conv", "Add"]


@pytest.mark.parametrize(
    ("shape", "bias", "operators"),
    [
        ((5, 6), lambda: floats(3), ["Gemm"]),
        ((5, 6), lambda: floats(1, 3), ["Gemm"]),
        ((5, 6), lambda: integers((3,), 3), ["DequantizeLinear", "Gemm"]),
        ((5, 6), lambda: floats(5, 1), ["MatMul", "Add"]),
        ((5, 6), lambda: floats(2, 5, 3), ["MatMul", "Add"]),
        ((2, 5, 6), lambda: floats(3), ["MatMul", "Add"]),
    ],
)
def test_products(shape: tuple[int, ...], bias: Callable[[], Any], operators: list[str]) -> None:
    module = module_of(shape, lambda x: relax.add(relax.matmul(x, floats(6, 3)), bias()))
    assert checked(module, shape) == operators


def test_rows_of_any_number() -> None:
    module = module_of(("n", 6), lambda x: relax.add(relax.matmul(x, floats(6, 3)), floats(3)))
    assert checked(module, (4, 6)) == ["Gemm"]


def test_equal_scales_share_a_tensor_and_signed_zero_points_do_not() -> None:
    def body(x: Any) -> Any:
        for _ in range(3):
            scale, zero = relax.const(numpy.float32(0.5)), relax.const(numpy.int8(3))
            x = relax.nn.relu(relax.dequantize(relax.quantize(x, scale, zero), scale, zero))
        return x

    assert len(rx.to_onnx(module_of((4,), body)).graph.initializer) == 1 + 6
