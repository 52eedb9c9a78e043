# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of the specification's drafts: rows, blocks with a shared scale, comparison and slices of shapes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from tosa_program import constant, operation, shape


def run(given: str, result: str, body: list[str], *arguments: Any) -> Any:
    lines = "\n".join(body)
    text = f"func.func @main({given}) -> {result} {{\n{lines}\nreturn %r : {result}\n}}"
    return rx.compile(rx.from_tosa(text))["main"](*arguments)


def test_rows() -> None:
    x = numpy.arange(12, dtype="float32").reshape(1, 6, 2)
    kinds = ["tensor<1x6x2xf32>", "tensor<1x2xi32>", "tensor<1xi32>"]
    body = [
        constant("c", [2], "i32"),
        operation("row_gather", list(zip(["%a", "%b", "%c"], kinds, strict=True)), "tensor<1x4x2xf32>"),
    ]
    made = run(f"%a: {kinds[0]}, %b: {kinds[1]}", "tensor<1x4x2xf32>", body, x, numpy.array([[4, 1]], "int32"))
    assert (made == x[:, [4, 5, 1, 2]]).all()


def test_blocks_that_share_a_scale() -> None:
    kinds = ["tensor<2x32xf8E4M3FN>", "tensor<2x1xf8E8M0FNU>"]
    block = "block_size = #tosa.block_size<BLOCK_SIZE_32>"
    body = [operation("cast_from_block_scaled", list(zip(["%a", "%b"], kinds, strict=True)), "tensor<2x32xf32>", block)]
    x = numpy.arange(64).reshape(2, 32).astype(ml_dtypes.float8_e4m3fn)
    scales = numpy.array([[2], [0.5]]).astype(ml_dtypes.float8_e8m0fnu)
    made = run(f"%a: {kinds[0]}, %b: {kinds[1]}", "tensor<2x32xf32>", body, x, scales)
    assert (made == x.astype("float32") * scales.astype("float32")).all()


def test_windows_from_operands() -> None:
    pair = "!tosa.shape<2>"
    operands = [("%a", "tensor<1x4x4x1xf32>"), ("%k", pair), ("%k", pair), ("%p", "!tosa.shape<4>")]
    body = [
        shape("k", [2, 2]),
        shape("p", [0, 0, 0, 0]),
        operation("max_pool2d_adaptive", operands, "tensor<1x2x2x1xf32>"),
    ]
    x = numpy.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    assert run("%a: tensor<1x4x4x1xf32>", "tensor<1x2x2x1xf32>", body, x).ravel().tolist() == [5, 7, 13, 15]


def test_shapes_are_compared() -> None:
    body = [
        '%n = "tosa.dim"(%a) {axis = 0 : i32} : (tensor<?xf32>) -> !tosa.shape<1>',
        '%m = "tosa.dim"(%b) {axis = 0 : i32} : (tensor<?xf32>) -> !tosa.shape<1>',
        '"tosa.assert_equal_shape"(%n, %m) {allow_broadcast = false} : (!tosa.shape<1>, !tosa.shape<1>) -> ()',
        "%r = tosa.add %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>",
    ]
    given, three = "%a: tensor<?xf32>, %b: tensor<?xf32>", numpy.ones(3, "float32")
    assert run(given, "tensor<?xf32>", body, three, three).tolist() == [2, 2, 2]
    with pytest.raises(Exception, match=r"tosa\.assert_equal_shape: the shapes differ"):
        run(given, "tensor<?xf32>", body, three, numpy.ones(4, "float32"))


def test_shapes_are_cut() -> None:
    operands = [("%s", "!tosa.shape<3>"), ("%b", "tensor<1xi32>"), ("%c", "tensor<1xi32>")]
    body = [
        shape("s", [4, 2, 3]),
        constant("b", [1], "i32"),
        constant("c", [2], "i32"),
        operation("slice_shape", operands, "!tosa.shape<2>", to="%m"),
        operation("tile", [("%a", "tensor<1x1xf32>"), ("%m", "!tosa.shape<2>")], "tensor<?x?xf32>"),
    ]
    assert run("%a: tensor<1x1xf32>", "tensor<?x?xf32>", body, numpy.ones((1, 1), "float32")).shape == (2, 3)
