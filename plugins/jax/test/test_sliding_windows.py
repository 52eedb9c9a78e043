# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows over tensors, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from hlo_oracle import array_of, assert_same


def _text(body: str, shape: str, window: str, result: str, rest: str = "") -> str:
    return f"""func.func @main(%x: tensor<{shape}xf32>, %i: tensor<f32>) -> tensor<{result}xf32> {{
  %r = "stablehlo.reduce_window"(%x, %i) <{{window_dimensions = array<i64: {window}>{rest}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
    stablehlo.return %c : tensor<f32>
  }}) : (tensor<{shape}xf32>, tensor<f32>) -> tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}"""


ADD, MAX = "%c = stablehlo.add %a, %b : tensor<f32>", "%c = stablehlo.maximum %a, %b : tensor<f32>"
CASES = {
    "few elements": ("3x4", "2, 2", "2x3", ""),
    "strides": ("5x6", "2, 3", "2x2", ", window_strides = array<i64: 2, 3>"),
    "borders": ("3x4", "2, 2", "4x4", ", padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>"),
    "many elements": ("40x2", "23, 1", "18x2", ""),
    "many elements and gaps": ("40x2", "18, 1", "6x2", ", window_dilations = array<i64: 2, 1>"),
    "gaps in data": ("3x4", "3, 2", "3x6", ", base_dilations = array<i64: 2, 2>"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("body", [ADD, MAX])
def test_reduce_window(name: str, body: str) -> None:
    shape, window, result, rest = CASES[name]
    assert_same(
        _text(body, shape, window, result, rest), [array_of(f"tensor<{shape}xf32>"), array_of("tensor<f32>", 1)]
    )


def _with_initial(text: str, value: str) -> str:
    """Return the text with a constant in the place of the second argument."""
    start, end = text.split(", %i: tensor<f32>")
    first, rest = end.split("{\n", 1)
    return f"{start}{first}{{\n  %i = stablehlo.constant dense<{value}> : tensor<f32>\n{rest}"


def test_running_sums_are_an_operator() -> None:
    rest = ", padding = dense<[[0, 0], [3, 0]]> : tensor<2x2xi64>"
    text = _with_initial(_text(ADD, "3x4", "1, 4", "3x4", rest), "0.0")
    assert "relax.cumsum" in str(rx.from_stablehlo(text))
    assert_same(text, [array_of("tensor<3x4xf32>")])


def test_maxima_over_images_are_a_pool() -> None:
    rest = ", window_strides = array<i64: 1, 2, 2, 1>"
    text = _with_initial(_text(MAX, "2x6x6x3", "1, 2, 2, 1", "2x3x3x3", rest), "0xFF800000")
    assert "relax.nn.max_pool2d" in str(rx.from_stablehlo(text))
    assert_same(text, [array_of("tensor<2x6x6x3xf32>")])


def test_select_and_scatter() -> None:
    text = """func.func @main(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>) -> tensor<4x6xf32> {
  %r = "stablehlo.select_and_scatter"(%x, %s, %i) <{
    window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}"""
    assert_same(text, [array_of("tensor<4x6xf32>"), array_of("tensor<2x3xf32>", 1), numpy.float32(0).reshape(())])
