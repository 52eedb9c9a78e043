# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and calls in graphs, with shapes and scalars among their values."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx

_N = 'tensor<?xf32, #relax.sym<["n"]>>'


def main(text: str) -> Any:
    return rx.reference(rx.Module.parse(text))["main"]


def floats(*values: float) -> Any:
    return numpy.array(values, "float32")


def test_branches() -> None:
    run = main(f"""
func.func @main(%take: tensor<i1>, %x: {_N}) -> ({_N}, tensor<1xi64>) {{
  %c = tensor.extract %take[] : tensor<i1>
  %y, %t = scf.if %c -> ({_N}, tensor<1xi64>) {{
    %0 = "relax.exp"(%x) : ({_N}) -> {_N}
    %1 = "relax.shape_of"(%0) : ({_N}) -> !relax.shape<["n"]>
    %2 = "relax.shape_to_tensor"(%1) : (!relax.shape<["n"]>) -> tensor<1xi64>
    scf.yield %0, %2 : {_N}, tensor<1xi64>
  }} else {{
    %1 = "relax.shape_expr"() {{dims = ["n + 1"]}} : () -> !relax.shape<["n + 1"]>
    %2 = "relax.shape_to_tensor"(%1) : (!relax.shape<["n + 1"]>) -> tensor<1xi64>
    scf.yield %x, %2 : {_N}, tensor<1xi64>
  }}
  return %y, %t : {_N}, tensor<1xi64>
}}""")
    x = floats(0.0, 0.0, 0.0)
    assert [each.tolist() for each in run(numpy.array(True), x)] == [[1, 1, 1], [3]]
    assert [each.tolist() for each in run(numpy.array(False), x)] == [[0, 0, 0], [4]]


def test_a_loop_whose_sizes_change_from_step_to_step() -> None:
    """Change the size of a symbol inside of the loop in each iteration."""
    run = main("""
func.func @main(%x: tensor<?xi64, #relax.sym<["n"]>>) -> tensor<?xi64> {
  %0 = "relax.match_cast"(%x) : (tensor<?xi64, #relax.sym<["n"]>>) -> tensor<?xi64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %0) -> (tensor<?xi64>) {
    %1 = "relax.match_cast"(%a) : (tensor<?xi64>) -> tensor<?xi64, #relax.sym<["k"]>>
    %2 = "relax.tile"(%1) {repeats = array<i64: 2>}
        : (tensor<?xi64, #relax.sym<["k"]>>) -> tensor<?xi64, #relax.sym<["k * 2"]>>
    %3 = "relax.match_cast"(%2) : (tensor<?xi64, #relax.sym<["k * 2"]>>) -> tensor<?xi64>
    scf.yield %3 : tensor<?xi64>
  }
  return %y : tensor<?xi64>
}""")
    assert run(numpy.array([7])).tolist() == [7] * 8


def test_a_loop_until_something_holds() -> None:
    run = main("""
func.func @main(%x: tensor<f32>) -> (tensor<f32>, i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %limit = arith.constant dense<100.0> : tensor<f32>
  %y, %n = scf.while (%a = %x, %i = %zero) : (tensor<f32>, i64) -> (tensor<f32>, i64) {
    %0 = "relax.less"(%a, %limit) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = tensor.extract %0[] : tensor<i1>
    scf.condition(%c) %a, %i : tensor<f32>, i64
  } do {
  ^bb0(%a: tensor<f32>, %i: i64):
    %1 = "relax.square"(%a) : (tensor<f32>) -> tensor<f32>
    %2 = arith.addi %i, %one : i64
    scf.yield %1, %2 : tensor<f32>, i64
  }
  return %y, %n : tensor<f32>, i64
}""")
    y, count = run(numpy.float32(3.0))
    assert (float(y), int(count)) == (6561.0, 3)


def test_calls_have_symbols_of_their_own() -> None:
    run = main(f"""
func.func private @twice(%x: {_N}) -> tensor<?xf32, #relax.sym<["n * 2"]>> {{
  %0 = "relax.concat"(%x, %x) {{axis = 0 : i64}} : ({_N}, {_N}) -> tensor<?xf32, #relax.sym<["n * 2"]>>
  return %0 : tensor<?xf32, #relax.sym<["n * 2"]>>
}}
func.func @main(%x: {_N}) -> tensor<?xf32> {{
  %0 = call @twice(%x) : ({_N}) -> tensor<?xf32, #relax.sym<["n * 2"]>>
  %1 = "relax.match_cast"(%0) : (tensor<?xf32, #relax.sym<["n * 2"]>>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}}""")
    assert run(floats(1, 2)).tolist() == [1, 2, 1, 2]


def test_scalars_and_their_tensors() -> None:
    run = main(f"""
func.func @main(%x: {_N}, %i: i64) -> (tensor<2xi64>, i64) {{
  %n = "relax.prim_value"() {{value = "n * 3"}} : () -> i64
  %c = arith.constant 0 : index
  %d = tensor.dim %x, %c : {_N}
  %e = arith.index_cast %d : index to i64
  %m = arith.maxsi %i, %e : i64
  %t = tensor.from_elements %n, %m : tensor<2xi64>
  return %t, %m : tensor<2xi64>, i64
}}""")
    found, number = run(floats(1, 2), 5)
    assert (found.tolist(), int(number)) == ([6, 5], 5)


def test_numbers_have_the_type_of_their_parameter() -> None:
    run = main("func.func @main(%i: i32) -> i32 { %s = arith.addi %i, %i : i32 return %s : i32 }")
    assert int(run(2**30)) == -(2**31)


def test_wrong_arguments() -> None:
    run = main(f"func.func @main(%x: {_N}, %y: {_N}) -> {_N} {{ return %x : {_N} }}")
    with pytest.raises(rx.OptionError, match="@main: argument #1 has size 2 along axis 0, not 1"):
        run(floats(1), floats(1, 2))
    with pytest.raises(rx.OptionError, match="main: argument #0 has elements of float64, not f32"):
        run(numpy.ones(1), floats(1))
    with pytest.raises(rx.OptionError, match="main: takes 2 arguments, got 1"):
        run(floats(1))
