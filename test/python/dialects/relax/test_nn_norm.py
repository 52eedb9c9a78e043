# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations: agreement of parameters with the data, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir.dialects.relax.nn_norm  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.dialects.core.infos import TensorInfo
from shorthand import refusal, tensor, unranked

shapes = st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple)
dtypes = st.sampled_from(["f16", "bf16", "f32", "f64"])


@st.composite
def shapes_and_axes(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int]]:
    """Draw a shape and some of its axes, in any order, counted from either end."""
    shape = draw(shapes)
    axes = draw(st.permutations(range(len(shape))))[: draw(st.integers(1, len(shape)))]
    return shape, [draw(st.sampled_from([axis, axis - len(shape)])) for axis in axes]


@draws(40)
@given(shapes_and_axes(), dtypes)
def test_parameters_have_the_sizes_of_the_axes(drawn: tuple[tuple[int, ...], list[int]], dtype: str) -> None:
    shape, axes = drawn
    data = tensor(*shape, dtype=dtype)
    fitting = tensor(*np.array(shape)[axes].tolist(), dtype=dtype)
    assert infer("relax.nn.layer_norm", data, fitting, fitting, axes=axes) == [data]
    assert infer("relax.nn.rms_norm", data, fitting, axes=axes) == [data]
    assert fitting.shape is not None
    larger = fitting.with_shape((*fitting.shape[:-1], shape[axes[-1]] + 1))
    message = refusal("relax.nn.layer_norm", data, fitting, larger, axes=axes)
    assert f"operand 'beta' ({shown(larger)}) must have size {shape[axes[-1]]} in dimension" in message


def shown(info: TensorInfo) -> str:
    assert info.shape is not None
    return f"tensor<{''.join(f'{size}x' for size in info.shape)}{info.dtype}>"


@draws(40)
@given(shapes, st.data(), dtypes)
def test_channels_have_one_parameter_each(shape: tuple[int, ...], data: st.DataObject, dtype: str) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    others = [other for other in range(len(shape)) if other != axis % len(shape)]
    x, channels = tensor(*shape, dtype=dtype), tensor(shape[axis], dtype=dtype)
    groups = data.draw(st.sampled_from([size for size in range(1, 6) if shape[axis] % size == 0]))
    batch = infer("relax.nn.batch_norm", x, *[channels] * 4, axis=axis)
    assert batch == [x, channels, channels]
    normalize = {"channel_axis": axis, "axes": others}
    assert infer("relax.nn.instance_norm", x, channels, channels, **normalize) == [x]
    assert infer("relax.nn.group_norm", x, channels, channels, num_groups=groups, **normalize) == [x]


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_returns_the_moving_statistics(training: bool) -> None:
    operands = tensor("n", "c", 8), *[tensor("c")] * 4
    results = infer("relax.nn.batch_norm", *operands, axis=1, momentum=0.2, training=training)
    assert results == [tensor("n", "c", 8), tensor("c"), tensor("c")]


def test_norm_sizes_come_from_any_operand() -> None:
    operands = tensor("n", None, 8), unranked(), tensor(16), tensor(None), tensor("c")
    assert infer("relax.nn.batch_norm", *operands, axis=1) == [tensor("n", None, 8), tensor(16), tensor(16)]
    operands = unranked(), unranked(), unranked(), tensor(None), unranked()
    assert infer("relax.nn.batch_norm", *operands, axis=1) == [unranked(), tensor(None), tensor(None)]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("layer_norm", {"axes": -1}),
        ("layer_norm", {"axes": [-1], "center": False, "scale": False, "epsilon": 0}),
        ("instance_norm", {"channel_axis": 1, "axes": [2, 3]}),
        ("group_norm", {"num_groups": 4, "channel_axis": 1, "axes": [2, 3]}),
    ],
)
def test_the_result_is_as_the_data(name: str, attributes: dict[str, Any]) -> None:
    for data in (tensor("n", 8, "h", 8, dtype="bf16"), tensor(None, 8, None, 8, dtype="bf16"), unranked("bf16")):
        assert infer(f"relax.nn.{name}", data, *[tensor(8, dtype="bf16")] * 2, **attributes) == [data]


def test_rms_norm_normalizes_the_last_axis_by_default() -> None:
    assert infer("relax.nn.rms_norm", tensor("n", 8), tensor(8)) == [tensor("n", 8)]
    assert "must have size 8 in dimension 0 (the data's along axis -1), got 4" in refusal(
        "relax.nn.rms_norm", tensor("n", 8), tensor(4)
    )


X, C = tensor(2, 6, 4, 4), tensor(6)
BATCH: dict[str, Any] = {"axis": 1}
LAYER: dict[str, Any] = {"axes": [1]}
INSTANCE: dict[str, Any] = {"channel_axis": 1, "axes": [2, 3]}
GROUP: dict[str, Any] = {"num_groups": 3, **INSTANCE}


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "message"),
    [
        (
            "batch_norm",
            (X, C, C, C, tensor(5)),
            BATCH,
            "(tensor<5xf32>) must have size 6 in dimension 0 (the data's along axis 1), got 5",
        ),
        ("batch_norm", (X, C, C, tensor(6, 1), C), BATCH, "operand 'moving_mean' (tensor<6x1xf32>) must be 1-D"),
        ("batch_norm", (X, C, C, C, C), {"axis": 4}, "attribute 'axis' (4) is out of range for 4 dimensions"),
        ("batch_norm", (X, C, C, C, C), {}, "misses attribute 'axis'"),
        ("batch_norm", (X, C, C, C, C), {**BATCH, "epsilon": -1.0}, "attribute 'epsilon' (-1.0) must be 0 or more"),
        ("batch_norm", (X, C, C, C, C), {**BATCH, "epsilon": float("nan")}, "attribute 'epsilon' (nan) must be 0"),
        (
            "batch_norm",
            (X, C, C, C, tensor(6, dtype="f16")),
            BATCH,
            "operand 'data' (tensor<2x6x4x4xf32>) and operand 'moving_var' (tensor<6xf16>) must have the",
        ),
        (
            "batch_norm",
            (tensor(2, 6, dtype="i32"), *[tensor(6, dtype="i32")] * 4),
            BATCH,
            "operand 'data' (tensor<2x6xi32>) must have float elements",
        ),
        ("batch_norm", (unranked(), C, tensor(5), C, C), BATCH, "operand 'beta' (tensor<5xf32>) must have size 6"),
        ("layer_norm", (X, C, C), {"axes": []}, "attribute 'axes' (()) must name at least one axis"),
        ("layer_norm", (X, C, C), {"axes": [-5]}, "attribute 'axes' (-5) is out of range"),
        (
            "layer_norm",
            (X, tensor(6, 6), tensor(6, 6)),
            {"axes": [1, -3]},
            "attribute 'axes' ((1, -3)) names axis 1 tw",
        ),
        ("layer_norm", (X, C, C), {"axes": [1, 2]}, "operand 'gamma' (tensor<6xf32>) must be 2-D, but is 1-D"),
        ("layer_norm", (X, tensor(4), C), LAYER, "operand 'gamma' (tensor<4xf32>) must have size 6"),
        (
            "rms_norm",
            (tensor("n", "k"), tensor("k + 1")),
            {},
            "must have size k in dimension 0 (the data's along axis -1)",
        ),
        (
            "instance_norm",
            (X, C, C),
            {"channel_axis": 1, "axes": [1, 2]},
            "attribute 'axes' ((1, 2)) must not hold attribute 'channel_axis' (1)",
        ),
        ("instance_norm", (X, C, C), {"channel_axis": 9, "axes": [2]}, "attribute 'channel_axis' (9) is out of range"),
        ("instance_norm", (X, C, C), {"channel_axis": 1, "axes": [2, 2]}, "attribute 'axes' ((2, 2)) names axis 2 tw"),
        ("instance_norm", (X, C, tensor(7)), INSTANCE, "operand 'beta' (tensor<7xf32>) must have size 6"),
        (
            "group_norm",
            (X, C, C),
            {**INSTANCE, "num_groups": 4},
            "attribute 'num_groups' (4) must divide the 6 channels of operand 'data' (tensor<2x6x4x4xf32>)",
        ),
        (
            "group_norm",
            (tensor(2, "4*c + 2"), C, C),
            {"num_groups": 4, "channel_axis": 1, "axes": []},
            "attribute 'num_groups' (4) must divide the",
        ),
        ("group_norm", (X, C, C), {**INSTANCE, "num_groups": 0}, "attribute 'num_groups' (0) must be 1 or more"),
        ("group_norm", (X, C, C), {**GROUP, "axes": [1]}, "must not hold attribute 'channel_axis' (1)"),
        ("group_norm", (X, unranked(), tensor(6, 1)), GROUP, "operand 'beta' (tensor<6x1xf32>) must be 1-D"),
    ],
)
def test_refused(name: str, operands: tuple[TensorInfo, ...], attributes: dict[str, Any], message: str) -> None:
    assert message in refusal(f"relax.nn.{name}", *operands, **attributes)
