# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations and dropout: accepted data, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir.dialects.relax.nn_activation  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.dialects.core.infos import TensorInfo
from shorthand import refusal, tensor, unranked

shapes = st.lists(st.integers(0, 5) | st.sampled_from(["n", "2*m + 1", None]), max_size=4)
floats = st.sampled_from(["f16", "bf16", "f32", "f64", "f8E4M3FN"])
ELEMENTWISE = ["gelu", "gelu_tanh", "leakyrelu", "relu", "selu", "silu", "softplus"]


@draws(40)
@given(st.sampled_from(ELEMENTWISE), shapes, floats)
def test_elementwise_results_are_as_the_data(name: str, shape: list[Any], dtype: str) -> None:
    data = tensor(*shape, dtype=dtype)
    assert infer(f"relax.nn.{name}", data) == [data]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_takes_any_rank(name: str) -> None:
    assert infer(f"relax.nn.{name}", unranked("f16")) == [unranked("f16")]


@pytest.mark.parametrize("name", [*ELEMENTWISE, "softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["i32", "ui8", "i1"])
def test_only_relu_takes_integers(name: str, dtype: str) -> None:
    data = tensor(2, 3, dtype=dtype)
    if name == "relu" and dtype != "i1":
        assert infer("relax.nn.relu", data) == [data]
    else:
        assert f"(tensor<2x3x{dtype}>) must have float" in refusal(f"relax.nn.{name}", data)


@draws(40)
@given(st.sampled_from(["softmax", "log_softmax"]), shapes, st.integers(-5, 4), floats)
def test_softmax_needs_an_axis_of_the_data(name: str, shape: list[Any], axis: int, dtype: str) -> None:
    data = tensor(*shape, dtype=dtype)
    if -len(shape) <= axis < len(shape):
        assert infer(f"relax.nn.{name}", data, axis=axis) == [data]
    else:
        assert f"attribute 'axis' ({axis}) is out of range" in refusal(f"relax.nn.{name}", data, axis=axis)


@draws(40)
@given(st.data(), floats)
def test_prelu_needs_one_slope_or_one_per_channel(data: st.DataObject, dtype: str) -> None:
    shape = data.draw(st.lists(st.integers(2, 5), min_size=1, max_size=4))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    slopes = data.draw(st.integers(1, 5))
    x, alpha = tensor(*shape, dtype=dtype), tensor(slopes, dtype=dtype)
    if slopes in (1, shape[axis]):
        assert infer("relax.nn.prelu", x, alpha, axis=axis) == [x]
    else:
        message = f"operand 'alpha' (tensor<{slopes}x{dtype}>) must have 1 element or {shape[axis]}"
        assert message in refusal("relax.nn.prelu", x, alpha, axis=axis)


def test_prelu_with_sizes_that_may_fit() -> None:
    for data, alpha in (
        (tensor(2, "c"), tensor("c")),
        (tensor(2, "c"), tensor(8)),
        (tensor(2, None), tensor("k")),
        (unranked(), tensor(3)),
        (tensor(2, 3), unranked()),
    ):
        assert infer("relax.nn.prelu", data, alpha) == [data]


def test_dropout_gives_result_and_mask() -> None:
    data = tensor("n", 3, dtype="bf16")
    assert infer("relax.nn.dropout", data) == [data, data]
    assert infer("relax.nn.dropout", unranked(), rate=0) == [unranked(), unranked()]


def test_unranked_data_goes_through_softmax() -> None:
    assert infer("relax.nn.softmax", unranked(), axis=7) == [unranked()]


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        ("prelu", (tensor(2), tensor(2)), {}, "attribute 'axis' (1) is out of range for 1 dimensions"),
        ("prelu", (tensor(2, 3), tensor(1, 3)), {}, "operand 'alpha' (tensor<1x3xf32>) must be 1-D, but is 2-D"),
        (
            "prelu",
            (tensor(2, 3), tensor(3, dtype="f16")),
            {},
            "operand 'data' (tensor<2x3xf32>) and operand 'alpha' (tensor<3xf16>) must have the same el",
        ),
        (
            "prelu",
            (tensor(2, 3, dtype="i8"), tensor(3, dtype="i8")),
            {},
            "operand 'data' (tensor<2x3xi8>) must have fl",
        ),
        ("dropout", (tensor(2),), {"rate": 1.5}, "attribute 'rate' (1.5) must be between 0 and 1"),
        ("dropout", (tensor(2),), {"rate": -0.5}, "attribute 'rate' (-0.5) must be between 0 and 1"),
        ("dropout", (tensor(2),), {"rate": float("nan")}, "attribute 'rate' (nan) must be between 0 and 1"),
        ("softplus", (tensor(2),), {"beta": 0}, "attribute 'beta' (0.0) must not be 0"),
        ("leakyrelu", (tensor(2),), {"alpha": "x"}, "attribute 'alpha' expects a number, got 'x'"),
        ("softmax", (tensor(2),), {"axes": 0}, "has no argument 'axes'; did you mean 'axis'?"),
    ],
)
def test_refused(name: str, operands: tuple[TensorInfo, ...], attributes: dict[str, Any], message: str) -> None:
    assert message in refusal(f"relax.nn.{name}", *operands, **attributes)
