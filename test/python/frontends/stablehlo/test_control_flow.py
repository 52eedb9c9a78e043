# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and calls, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
from hlo_oracle import array_of, assert_same

LOOP = """func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<i32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = func.call @step(%s, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %j, %t : tensor<i32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<i32>, tensor<4xf32>
}
func.func private @step(%s: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %t = stablehlo.multiply %s, %x : tensor<4xf32>
  return %t : tensor<4xf32>
}"""


@pytest.mark.parametrize("count", [0, 1, 3])
def test_while(count: int) -> None:
    assert_same(LOOP, [array_of("tensor<4xf32>"), numpy.int32(count).reshape(())])


IF = """func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %r = "stablehlo.if"(%p) ({
    %t = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %t : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""


@pytest.mark.parametrize("holds", [False, True])
def test_if(holds: bool) -> None:
    assert_same(IF, [array_of("tensor<4xf32>"), numpy.array(holds)])


CASE = """func.func @main(%x: tensor<4xf32>, %p: tensor<i32>) -> tensor<4xf32> {
  %r = "stablehlo.case"(%p) ({
    %t = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %t : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }, {
    %t = stablehlo.add %x, %x : tensor<4xf32>
    stablehlo.return %t : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 7])
def test_case(number: int) -> None:
    assert_same(CASE, [array_of("tensor<4xf32>"), numpy.int32(number).reshape(())])
