# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions: a sample of the node suite, older versions against onnxruntime, cases that the suite lacks."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from against_onnxruntime import Compared, one_node
from compiling import array
from node_suite import Case, cases, check
from onnx.reference import ReferenceEvaluator

import relax_mlir as rx

_OPERATORS = [
    "Relu", "LeakyRelu", "Elu", "Selu", "Celu", "PRelu", "ThresholdedRelu", "Softplus", "Softsign", "HardSigmoid",
    "HardSwish", "Mish", "Gelu", "Swish", "SwiGLU", "Shrink", "Clip", "Softmax", "LogSoftmax", "Hardmax", "Dropout",
]  # fmt: skip


def _floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.parametrize("case", cases(*_OPERATORS)[::2], ids=lambda case: case.name)
def test_the_node_suite(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_was_that_of_a_matrix(op: str, axis: int) -> None:
    model = one_node(op, {"x": _floats(2, 3, 4)}, opset=11, axis=axis)
    compared = Compared(model)
    compared(_floats(2, 3, 4))
    compared(_floats(5, 1, 7))


def test_softmax_of_a_matrix_of_unknown_size() -> None:
    nodes = [
        onnx.helper.make_node("NonZero", ["x"], ["places"]),
        onnx.helper.make_node("Cast", ["places"], ["numbers"], to=1),
        onnx.helper.make_node("Softmax", ["numbers"], ["y"], axis=0),
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, "n"])
    y = onnx.helper.make_empty_tensor_value_info("y")
    opset = [onnx.helper.make_opsetid("", 11)]
    graph = onnx.helper.make_graph(nodes, "g", [x], [y])
    compared = Compared(onnx.helper.make_model(graph, opset_imports=opset, ir_version=10))
    compared(numpy.eye(3, 5, dtype="float32"))
    compared(numpy.eye(3, 2, dtype="float32"))


def test_softmax_of_halves_is_the_references() -> None:
    """Compare to the bit: the operator's definition rounds each step. Infinities and equal elements are included."""
    x = (4 * _floats(30, 40)).astype("float16")  # along another axis numpy's sums are rounded after each row
    x[3, :5], x[7] = -numpy.inf, 2
    model = one_node("Softmax", {"x": x}, axis=-1)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    numpy.testing.assert_array_equal(array(rx.compile(rx.from_onnx(model))["main"](x)), expected)


def test_the_first_of_equal_elements_is_the_hard_maximum() -> None:
    compared = Compared(one_node("Hardmax", {"x": _floats(2, 3)}, opset=13))
    compared(numpy.array([[1, 3, 3], [2, 2, 2]], "float32"))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_hard_maximum_of_nothing(axis: int) -> None:
    for shape in ((0, 0), (0, 3), (2, 0)):
        Compared(one_node("Hardmax", {"x": _floats(*shape)}, axis=axis))(_floats(*shape))
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "m"])
    y = onnx.helper.make_empty_tensor_value_info("y")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Hardmax", ["x"], ["y"], axis=axis)], "g", [x], [y])
    opset = [onnx.helper.make_opsetid("", 13)]
    compared = Compared(onnx.helper.make_model(graph, opset_imports=opset, ir_version=10))
    for shape in ((0, 0), (0, 3), (2, 0), (3, 4)):
        compared(_floats(*shape))
    compared(numpy.full((2, 3), -numpy.inf, "float32"))


@pytest.mark.parametrize(
    "op, attributes", [("Elu", {"alpha": 0.7}), ("Celu", {"alpha": 0.7}), ("Selu", {"alpha": 0.7, "gamma": 1.5})]
)
def test_exponentials_keep_their_digits_near_zero(op: str, attributes: dict[str, Any]) -> None:
    x = numpy.array([-1e-6, -1e-3, -2.0, -90.0, 0.0, 3.0, 200.0], "float32")
    factor = attributes["alpha"] * attributes.get("gamma", 1.0)
    scale = 1 / attributes["alpha"] if op == "Celu" else 1.0
    below = factor * numpy.expm1(numpy.minimum(x.astype("float64"), 0) * scale)
    expected = numpy.where(x > 0, x * attributes.get("gamma", 1.0), below)
    found = rx.compile(rx.from_onnx(one_node(op, {"x": x}, **attributes)))["main"](x)
    numpy.testing.assert_allclose(array(found), expected, rtol=1e-6)


@pytest.mark.parametrize("opset", [7, 9, 16])
def test_slopes_are_broadcast(opset: int) -> None:
    Compared(one_node("PRelu", {"x": _floats(2, 3, 4), "slope": _floats(3, 1)}, opset=opset, symbolic=False))(
        _floats(2, 3, 4), _floats(3, 1)
    )


def test_slopes_were_those_of_channels() -> None:
    x, slopes = _floats(2, 3, 3), _floats(3, seed=4)
    model = one_node("PRelu", {"x": x, "slope": slopes}, opset=6)
    found = array(rx.compile(rx.from_onnx(model))["main"](x, slopes))
    numpy.testing.assert_allclose(found, numpy.where(x > 0, x, x * slopes[:, None]))


@pytest.mark.parametrize("opset", [6, 11, 13])
def test_clip_without_a_bound(opset: int) -> None:
    x = _floats(3, 4)
    high = numpy.array(0.25, "float32")
    if opset == 6:
        Compared(one_node("Clip", {"x": x}, opset=opset, max=0.25))(x)
    else:
        Compared(one_node("Clip", {"x": x, "min": None, "max": high}, opset=opset))(x, high)


def test_bounds_that_are_constants_make_one_operator() -> None:
    model = one_node("Clip", {"x": _floats(3)}, opset=11)
    bounds = {"low": numpy.float32(0), "high": numpy.array([6], "float32")}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(value, name) for name, value in bounds.items())
    model.graph.node[0].input.extend(bounds)
    text = str(rx.from_onnx(model))
    assert "relax.clip" in text and "relax.maximum" not in text


def test_integers_shrink_by_integers() -> None:
    x = numpy.array([0, 1, 2, 3], "uint8")
    found = rx.compile(rx.from_onnx(one_node("Shrink", {"x": x}, bias=1.0, lambd=1.5)))["main"](x)
    numpy.testing.assert_array_equal(array(found), [0, 0, 1, 2])


@pytest.mark.parametrize("opset, dtype", [(7, "float32"), (10, "bool"), (12, "bool")])
def test_nothing_is_dropped_in_use(opset: int, dtype: str) -> None:
    x = _floats(2, 3)
    result, mask = rx.compile(rx.from_onnx(one_node("Dropout", {"x": x}, 2, opset=opset)))["main"](x)
    numpy.testing.assert_array_equal(array(result), x)
    assert array(mask).dtype == dtype and array(mask).all()


def test_invalid_attributes_of_activations_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match="'approximate' must be none or tanh"):
        rx.from_onnx(one_node("Gelu", {"x": _floats(3)}, approximate="other"))
    with pytest.raises(rx.RelaxError, match="'alpha' must be above 0"):
        rx.from_onnx(one_node("Celu", {"x": _floats(3)}, alpha=-1.0))
