# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and calls, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from hlo_oracle import array_of, assert_same, called
from relax_mlir.support.errors import RelaxError

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


@pytest.mark.parametrize("argument", ["", "%x: tensor<2xf32>"])
def test_control_flow_on_constants(argument: str) -> None:
    """Keep a loop and a branch on constant integers in the program."""
    text = f"""func.func @main({argument}) -> (tensor<i32>, tensor<i32>) {{
      %c = stablehlo.constant dense<0> : tensor<i32>
      %five = stablehlo.constant dense<5> : tensor<i32>
      %0 = stablehlo.while(%i = %c) : tensor<i32>
      cond {{
        %1 = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1> : tensor<i32>
        %1 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %1 : tensor<i32>
      }}
      %2 = "stablehlo.case"(%five) ({{
        stablehlo.return %c : tensor<i32>
      }}, {{
        %3 = stablehlo.while(%i = %five) : tensor<i32>
        cond {{
          %1 = stablehlo.compare GT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        }} do {{
          %1 = stablehlo.subtract %i, %five : tensor<i32>
          stablehlo.return %1 : tensor<i32>
        }}
        stablehlo.return %3 : tensor<i32>
      }}) : (tensor<i32>) -> tensor<i32>
      return %0, %2 : tensor<i32>, tensor<i32>
    }}"""
    assert called(text, [numpy.zeros(2, "float32")] if argument else []) == [5, 0]


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


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(axis: int, is_reverse: bool) -> None:
    """Compare with numpy: the rows before they are carried on, and the final carried value."""
    data = "tensor<5x2xf32>" if axis == 0 else "tensor<2x5xf32>"
    row = "tensor<2xf32>"
    text = f"""
    func.func @main(%x: {data}, %first: {row}) -> ({data}, {row}) {{
      %0:2 = "chlo.scan"(%x, %first) <{{dimension = {axis} : i64, is_reverse = {str(is_reverse).lower()},
          operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}}> ({{
      ^bb0(%here: {row}, %carried: {row}):
        %1 = stablehlo.multiply %here, %carried : {row}
        %2 = stablehlo.add %1, %here : {row}
        stablehlo.return %1, %2 : {row}, {row}
      }}) : ({data}, {row}) -> ({data}, {row})
      return %0#0, %0#1 : {data}, {row}
    }}"""
    x, carried = array_of(data), array_of(row, 1)
    found = called(text, [x, carried])
    along = numpy.moveaxis(x, axis, 0)
    rows = numpy.empty_like(along)
    for place in reversed(range(5)) if is_reverse else range(5):
        rows[place] = along[place] * carried
        carried = rows[place] + along[place]
    numpy.testing.assert_allclose(found[0], numpy.moveaxis(rows, 0, axis), rtol=1e-5)
    numpy.testing.assert_allclose(found[1], carried, rtol=1e-5)


def test_tuples_become_their_elements() -> None:
    text = """
    func.func @main(%a: tensor<3xf32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<3xf32>) {
      %0 = stablehlo.tuple %a, %b : tuple<tensor<3xf32>, tensor<2xi32>>
      %1 = call @swap(%0) : (tuple<tensor<3xf32>, tensor<2xi32>>) -> tuple<tensor<2xi32>, tuple<tensor<3xf32>>>
      %2 = stablehlo.get_tuple_element %1[0] : (tuple<tensor<2xi32>, tuple<tensor<3xf32>>>) -> tensor<2xi32>
      %3 = stablehlo.get_tuple_element %1[1] : (tuple<tensor<2xi32>, tuple<tensor<3xf32>>>) -> tuple<tensor<3xf32>>
      %4 = stablehlo.get_tuple_element %3[0] : (tuple<tensor<3xf32>>) -> tensor<3xf32>
      return %2, %4 : tensor<2xi32>, tensor<3xf32>
    }
    func.func private @swap(%0: tuple<tensor<3xf32>, tensor<2xi32>>) -> tuple<tensor<2xi32>, tuple<tensor<3xf32>>> {
      %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<3xf32>, tensor<2xi32>>) -> tensor<3xf32>
      %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<3xf32>, tensor<2xi32>>) -> tensor<2xi32>
      %3 = stablehlo.tuple %1 : tuple<tensor<3xf32>>
      %4 = stablehlo.tuple %2, %3 : tuple<tensor<2xi32>, tuple<tensor<3xf32>>>
      return %4 : tuple<tensor<2xi32>, tuple<tensor<3xf32>>>
    }"""
    one, other = array_of("tensor<3xf32>"), array_of("tensor<2xi32>", 1)
    numbers, floats = called(text, [one, other])
    numpy.testing.assert_array_equal(numbers, other)
    numpy.testing.assert_array_equal(floats, one)
    program = """
    func.func @main(%a: tensor<3xf32>) -> tuple<tensor<3xf32>> {
      %0 = stablehlo.tuple %a : tuple<tensor<3xf32>>
      return %0 : tuple<tensor<3xf32>>
    }"""
    with pytest.raises(RelaxError, match="result #0 of 'main' is not a tensor"):
        rx.from_stablehlo(program)
