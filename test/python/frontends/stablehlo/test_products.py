# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # tables of one line per case read best
"""Products of tensors and convolutions, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import array_of, called, check, module_of

DOTS = [
    ("contracting_dims = [1] x [0]", "tensor<3x4xf32>", "tensor<4x5xf32>", "tensor<3x5xf32>"),
    ("contracting_dims = [0] x [1]", "tensor<4x3xf32>", "tensor<5x4xf32>", "tensor<3x5xf32>"),
    ("batching_dims = [0] x [1], contracting_dims = [2] x [0]", "tensor<2x3x4xf32>", "tensor<4x2x5xf32>", "tensor<2x3x5xf32>"),
    ("contracting_dims = [1, 2] x [1, 0]", "tensor<2x3x4xf32>", "tensor<4x3xf32>", "tensor<2xf32>"),
    ("contracting_dims = [0] x [0]", "tensor<4xf32>", "tensor<4xf32>", "tensor<f32>"),
    ("contracting_dims = [1] x [0]", "tensor<3x4xi8>", "tensor<4x5xi8>", "tensor<3x5xi32>"),
    ("contracting_dims = [1] x [0]", "tensor<3x4xcomplex<f32>>", "tensor<4x5xcomplex<f32>>", "tensor<3x5xcomplex<f32>>"),
]  # fmt: skip


@pytest.mark.parametrize(("dims", "left", "right", "result"), DOTS)
def test_dot_general(dims: str, left: str, right: str, result: str) -> None:
    check(f"stablehlo.dot_general %0, %1, {dims} : ({left}, {right}) -> {result}", [left, right], result)


def test_dot() -> None:
    """Which the interpreter does not know."""
    types = ["tensor<3x4xf32>", "tensor<4xf32>"]
    left, right = (array_of(type_, seed) for seed, type_ in enumerate(types))
    operation = f"stablehlo.dot %0, %1 : ({types[0]}, {types[1]}) -> tensor<3xf32>"
    (made,) = called(module_of(operation, types, "tensor<3xf32>"), [left, right])
    numpy.testing.assert_allclose(made, left @ right, rtol=1e-5)


CONVOLUTIONS = {
    "channels first": ("[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "", "tensor<1x2x5x6xf32>", "tensor<3x2x2x3xf32>", "tensor<1x3x4x4xf32>", 1),
    "channels last": ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 1], pad = [[1, 0], [0, 2]]", "tensor<1x5x6x2xf32>", "tensor<2x3x2x3xf32>", "tensor<1x3x6x3xf32>", 1),
    "gaps in data": ("[b, f, 0]x[o, i, 0]->[b, f, 0]", "pad = [[1, 2]], lhs_dilate = [2]", "tensor<1x2x5xf32>", "tensor<3x2x3xf32>", "tensor<1x3x10xf32>", 1),
    "gaps between taps": ("[b, f, 0]x[o, i, 0]->[b, f, 0]", "rhs_dilate = [2]", "tensor<2x2x7xf32>", "tensor<3x2x3xf32>", "tensor<2x3x3xf32>", 1),
    "negative padding": ("[b, f, 0]x[o, i, 0]->[b, f, 0]", "pad = [[-1, 2]]", "tensor<1x2x7xf32>", "tensor<3x2x3xf32>", "tensor<1x3x6xf32>", 1),
    "groups": ("[b, f, 0]x[o, i, 0]->[b, f, 0]", "", "tensor<1x4x6xf32>", "tensor<4x2x3xf32>", "tensor<1x4x4xf32>", 2),
    "reversed taps": ("[b, f, 0]x[o, i, 0]->[b, f, 0]", "reverse = [true]", "tensor<1x2x6xf32>", "tensor<3x2x3xf32>", "tensor<1x3x4xf32>", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str) -> None:
    layout, window, data, weight, result, groups = CONVOLUTIONS[name]
    attributes = f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}"
    operation = f"stablehlo.convolution(%0, %1) dim_numbers = {layout}, window = {{{window}}} {attributes} : ({data}, {weight}) -> {result}"
    check(operation, [data, weight], result, 1e-4)


def test_groups_of_the_batch() -> None:
    data, weight, result = "tensor<4x2x6xf32>", "tensor<4x2x3xf32>", "tensor<2x4x4xf32>"
    operation = f"stablehlo.convolution(%0, %1) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {{}} {{batch_group_count = 2 : i64, feature_group_count = 1 : i64}} : ({data}, {weight}) -> {result}"
    check(operation, [data, weight], result, 1e-4)
