# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per case reads best
"""Operations that move elements, beside StableHLO's interpreter."""

from __future__ import annotations

import pytest
from hlo_oracle import check

T, C = "tensor<2x3xf32>", "tensor<2x3xcomplex<f32>>"
#: Operation, operands, result.
CASES = {
    "reshape": ("stablehlo.reshape %0 : ({0}) -> {r}", [T], "tensor<3x2xf32>"),
    "transpose": ("stablehlo.transpose %0, dims = [1, 0] : ({0}) -> {r}", [T], "tensor<3x2xf32>"),
    "transpose of complex": ("stablehlo.transpose %0, dims = [1, 0] : ({0}) -> {r}", [C], "tensor<3x2xcomplex<f32>>"),
    "broadcast": ("stablehlo.broadcast_in_dim %0, dims = [0, 2] : ({0}) -> {r}", [T], "tensor<2x4x3xf32>"),
    "broadcast of 1": ("stablehlo.broadcast_in_dim %0, dims = [1, 0] : ({0}) -> {r}", ["tensor<1x3xf32>"], T.replace("2x3", "3x5")),
    "broadcast of a scalar": ("stablehlo.broadcast_in_dim %0, dims = [] : ({0}) -> {r}", ["tensor<f32>"], T),
    "slice": ("stablehlo.slice %0 [0:2:1, 0:3:2] : ({0}) -> {r}", [T], "tensor<2x2xf32>"),
    "reverse": ("stablehlo.reverse %0, dims = [0, 1] : {0}", [T], T),
    "concatenate": ("stablehlo.concatenate %0, %1, dim = 1 : ({0}, {0}) -> {r}", [T, T], "tensor<2x6xf32>"),
    "concatenate of complex": ("stablehlo.concatenate %0, %1, dim = 0 : ({0}, {0}) -> {r}", [C, C], "tensor<4x3xcomplex<f32>>"),
    "pad": ("stablehlo.pad %0, %1, low = [1, 0], high = [0, 2], interior = [0, 1] : ({0}, {1}) -> {r}", [T, "tensor<f32>"], "tensor<3x7xf32>"),
    "pad by less": ("stablehlo.pad %0, %1, low = [-1, 0], high = [0, -1], interior = [0, 0] : ({0}, {1}) -> {r}", [T, "tensor<f32>"], "tensor<1x2xf32>"),
    "iota": ("stablehlo.iota dim = 1 : {r}", [], "tensor<2x3xi32>"),
    "dynamic slice": ("stablehlo.dynamic_slice %0, %1, %2, sizes = [1, 2] : ({0}, {1}, {1}) -> {r}", [T, "tensor<i32>", "tensor<i32>"], "tensor<1x2xf32>"),
    "dynamic update slice": ("stablehlo.dynamic_update_slice %0, %1, %2, %2 : ({0}, {1}, {2}, {2}) -> {r}", [T, "tensor<1x2xf32>", "tensor<i32>"], T),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_moved(name: str) -> None:
    operation, operands, result = CASES[name]
    check(operation.format(*operands, r=result), operands, result)
