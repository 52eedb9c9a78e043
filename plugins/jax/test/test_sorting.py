# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts by comparators of known and of other forms, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import array_of, assert_same

F, INT = "tensor<f32>", "tensor<i32>"


def _text(body: str, shape: str = "3x6", axis: int = 1) -> str:
    both = f"tensor<{shape}xf32>, tensor<{shape}xi32>"
    return f"""func.func @main(%x: tensor<{shape}xf32>, %y: tensor<{shape}xi32>) -> ({both}) {{
  %r:2 = "stablehlo.sort"(%x, %y) <{{dimension = {axis} : i64, is_stable = true}}> ({{
  ^bb0(%a: {F}, %b: {F}, %c: {INT}, %d: {INT}):
    {body}
    stablehlo.return %r : tensor<i1>
  }}) : ({both}) -> ({both})
  return %r#0, %r#1 : {both}
}}"""


BODIES = {
    "up": f"%r = stablehlo.compare LT, %a, %b : ({F}, {F}) -> tensor<i1>",
    "down": f"%r = stablehlo.compare GT, %a, %b : ({F}, {F}) -> tensor<i1>",
    "by the other one": f"%r = stablehlo.compare LT, %c, %d : ({INT}, {INT}) -> tensor<i1>",
    "swapped": f"%r = stablehlo.compare LT, %b, %a : ({F}, {F}) -> tensor<i1>",
    "of a function": f"""%p = stablehlo.abs %a : {F}
    %q = stablehlo.abs %b : {F}
    %r = stablehlo.compare LT, %p, %q, TOTALORDER : ({F}, {F}) -> tensor<i1>""",
    "in turn": f"""%1 = stablehlo.compare LT, %c, %d : ({INT}, {INT}) -> tensor<i1>
    %2 = stablehlo.compare EQ, %c, %d : ({INT}, {INT}) -> tensor<i1>
    %3 = stablehlo.compare LT, %a, %b : ({F}, {F}) -> tensor<i1>
    %4 = stablehlo.and %2, %3 : tensor<i1>
    %r = stablehlo.or %1, %4 : tensor<i1>""",
    "of no known form": f"""%s = stablehlo.add %c, %d : {INT}
    %n = stablehlo.convert %s : ({INT}) -> {F}
    %p = stablehlo.subtract %a, %b : {F}
    %q = stablehlo.multiply %n, %n : {F}
    %z = stablehlo.subtract %q, %q : {F}
    %r = stablehlo.compare LT, %p, %z : ({F}, {F}) -> tensor<i1>""",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("axis", [0, 1])
def test_sort(name: str, axis: int) -> None:
    """Sort with some equal elements."""
    values = numpy.round(array_of("tensor<3x6xf32>") * 2) / 2
    assert_same(_text(BODIES[name], axis=axis), [values, array_of("tensor<3x6xi32>", 1)])


def test_top_k() -> None:
    text = """func.func @main(%x: tensor<3x6xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %v, %i = chlo.top_k(%x, k = 2) : tensor<3x6xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  return %v, %i : tensor<3x2xf32>, tensor<3x2xi32>
}"""
    assert_same(text, [array_of("tensor<3x6xf32>")])
