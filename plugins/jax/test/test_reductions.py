# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions by known bodies and by others, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import array_of, assert_same, called, check


def _text(body: str, dtype: str, axes: str = "1", result: str = "3", shape: str = "3x4") -> str:
    element = f"tensor<{dtype}>"
    return f"""func.func @main(%x: tensor<{shape}x{dtype}>, %i: {element}) -> tensor<{result}x{dtype}> {{
  %r = "stablehlo.reduce"(%x, %i) ({{
  ^bb0(%a: {element}, %b: {element}):
    {body}
    stablehlo.return %c : {element}
  }}) {{dimensions = array<i64: {axes}>}} : (tensor<{shape}x{dtype}>, {element}) -> tensor<{result}x{dtype}>
  return %r : tensor<{result}x{dtype}>
}}"""


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", ["f32", "i32", "i1"])
def test_known_bodies(name: str, dtype: str) -> None:
    text = _text(f"%c = stablehlo.{name} %a, %b : tensor<{dtype}>", dtype)
    assert_same(text, [array_of(f"tensor<3x4x{dtype}>"), array_of(f"tensor<{dtype}>", 1)])


@pytest.mark.parametrize(("name", "start"), [("or", False), ("and", True), ("or", True), ("and", False)])
def test_booleans_of_an_empty_dimension(name: str, start: bool) -> None:
    """Return the initial value for an empty dimension."""
    text = _text(f"%c = stablehlo.{name} %a, %b : tensor<i1>", "i1", "1", "3", "3x0")
    (found,) = called(text, [numpy.zeros((3, 0), bool), numpy.array(start)])
    assert found.tolist() == [start] * 3


@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_another_body(dtype: str) -> None:
    """Reduce with a body that is no operator: the element of larger magnitude."""
    body = f"""%p = stablehlo.abs %a : tensor<{dtype}>
    %q = stablehlo.abs %b : tensor<{dtype}>
    %o = stablehlo.compare GE, %p, %q : (tensor<{dtype}>, tensor<{dtype}>) -> tensor<i1>
    %c = stablehlo.select %o, %a, %b : tensor<i1>, tensor<{dtype}>"""
    for shape, result in (("3x4", "3"), ("3x7", "3"), ("3x1", "3")):
        text = _text(body, dtype, "1", result, shape)
        assert_same(text, [array_of(f"tensor<{shape}x{dtype}>"), array_of(f"tensor<{dtype}>", 1)])


def test_several_dimensions() -> None:
    text = _text("%c = stablehlo.add %a, %b : tensor<f32>", "f32", "0, 2", "3", "2x3x4")
    assert_same(text, [array_of("tensor<2x3x4xf32>"), array_of("tensor<f32>", 1)])


ARGMAX = """func.func @main(%x: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
  %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.iota dim = 1 : tensor<3x5xi32>
  %r:2 = stablehlo.reduce(%x init: %n), (%p init: %z) across dimensions = [1]
    : (tensor<3x5xf32>, tensor<3x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %0 = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.or %0, %1 : tensor<i1>
    %3 = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %3, %4 : tensor<i1>
    %6 = stablehlo.or %2, %5 : tensor<i1>
    %7 = stablehlo.select %2, %a, %c : tensor<i1>, tensor<f32>
    %8 = stablehlo.select %6, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
}"""


def test_argmax_of_jax_is_an_operator() -> None:
    import relax_mlir as rx

    assert "relax.argmax" in str(rx.from_stablehlo(ARGMAX))
    assert_same(ARGMAX, [array_of("tensor<3x5xf32>")])


def test_no_dimension() -> None:
    check("stablehlo.abs %0 : tensor<f32>", ["tensor<f32>"], "tensor<f32>")
    text = _text("%c = stablehlo.add %a, %b : tensor<f32>", "f32", "", "3x4").replace("array<i64: >", "array<i64>")
    assert_same(text, [array_of("tensor<3x4xf32>"), array_of("tensor<f32>", 1)])
