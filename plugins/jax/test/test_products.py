# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # tables of one line per case read best
"""Products of tensors and convolutions, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import array_of, assert_same, called, check, module_of

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
    """Compare with numpy, since the interpreter lacks the operation."""
    types = ["tensor<3x4xf32>", "tensor<4xf32>"]
    left, right = (array_of(type_, seed) for seed, type_ in enumerate(types))
    operation = f"stablehlo.dot %0, %1 : ({types[0]}, {types[1]}) -> tensor<3xf32>"
    (made,) = called(module_of(operation, types, "tensor<3xf32>"), [left, right])
    numpy.testing.assert_allclose(made, left @ right, rtol=1e-5)


CONVOLUTIONS = {
    "channels first": ("[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "", "tensor<1x2x5x6xf32>", "tensor<3x2x2x3xf32>", "tensor<1x3x4x4xf32>", 1),
    "channels last": ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 1], pad = [[1, 0], [0, 2]]", "tensor<1x5x6x2xf32>", "tensor<2x3x2x3xf32>", "tensor<1x3x6x3xf32>", 1),
    "gaps in data": ("[b, f, 0]x[o, i, 0]->[b, f, 0]", "pad = [[1, 2]], lhs_dilate = [2]", "tensor<1x2x5xf32>", "tensor<3x2x3xf32>", "tensor<1x3x10xf32>", 1),
    "gaps in data, more after": ("[b, f, 0]x[o, i, 0]->[b, f, 0]", "pad = [[1, 3]], lhs_dilate = [2]", "tensor<1x2x5xf32>", "tensor<3x2x3xf32>", "tensor<1x3x11xf32>", 1),
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


def test_einsum() -> None:
    """Compare with numpy, since the interpreter lacks the operation."""
    text = """
    func.func @main(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) -> (tensor<3x5xf32>, tensor<4xf32>) {
      %0 = "stablehlo.einsum"(%a, %b) {einsum_config = "ab,bc->ac"} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
      %1 = "stablehlo.unary_einsum"(%a) {einsum_config = "ab->b"} : (tensor<3x4xf32>) -> tensor<4xf32>
      return %0, %1 : tensor<3x5xf32>, tensor<4xf32>
    }"""
    left, right = array_of("tensor<3x4xf32>"), array_of("tensor<4x5xf32>", 1)
    product, sums = called(text, [left, right])
    numpy.testing.assert_allclose(product, left @ right, rtol=1e-5)
    numpy.testing.assert_allclose(sums, left.sum(0), rtol=1e-5)


#: Dimension numbers, and the types of the operands and of the result.
RAGGED = {
    "rows, with a batch": ("lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]", "tensor<2x11x5xf32>", "tensor<3x2x5x7xf32>", "tensor<2x11x7xf32>"),
    "rows": ("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]", "tensor<11x5xf32>", "tensor<3x5x7xf32>", "tensor<11x7xf32>"),
    "rows, transposed": ("lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [1]", "tensor<5x11xf32>", "tensor<7x3x5xf32>", "tensor<11x7xf32>"),
    "sums": ("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]", "tensor<4x11xf32>", "tensor<11x7xf32>", "tensor<3x4x7xf32>"),
    "batch": ("lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]", "tensor<11x4x5xf32>", "tensor<11x5x7xf32>", "tensor<11x4x7xf32>"),
}  # fmt: skip


@pytest.mark.parametrize("groups", [[3, 0, 6], [4, 5, 2], [0, 9, 9]])
@pytest.mark.parametrize("name", RAGGED)
def test_ragged_dot(name: str, groups: list[int]) -> None:
    """Test groups that end before the last row, at it, and after it."""
    dims, left, right, result = RAGGED[name]
    attributes = f"{{ragged_dot_dimension_numbers = #chlo.ragged_dot<{dims}>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]}}"
    types = [left, right, "tensor<3xi64>"]
    text = module_of(f'"chlo.ragged_dot"(%0, %1, %2) {attributes} : ({", ".join(types)}) -> {result}', types, result)
    assert_same(text, [array_of(left), array_of(right, 1), numpy.array(groups)], 1e-4)
