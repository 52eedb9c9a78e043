# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of Python, PrimFuncs that write to arguments, external functions; effects."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx

X = numpy.array([1.0, 2.0], "float32")
_T = "tensor<2xf32>"


def run(text: str, *arguments: Any, wide: bool = False, **functions: Any) -> Any:
    return rx.reference(rx.Module.parse(text), wide=wide, functions=functions)["main"](*arguments)


def calling(operation: str, results: str = _T, attributes: str = "") -> str:
    return f"""
func.func @main(%x: {_T}) -> ({_T}, {results}) {{
  %0 = "relax.{operation}"(%x) {{func = "packed"{attributes}}} : ({_T}) -> {results}
  return %x, %0 : {_T}, {results}
}}"""


def test_in_destination_passing_style() -> None:
    def packed(x: Any, out: Any) -> None:
        assert x.dtype == out.dtype == "float32"
        out[:] = x * 2
        x[:] = 0  # nothing sees this write

    same, found = run(calling("call_dps_packed"), X, packed=packed)
    assert (same.tolist(), found.tolist()) == ([1, 2], [2, 4])


def test_that_return_values() -> None:
    _, found = run(calling("call_pure_packed"), X, packed=lambda x: x + 1)
    assert found.tolist() == [2, 3]
    _, number = run(calling("call_pure_packed", "i64"), X, packed=lambda x: len(x))
    assert number == 2
    with pytest.raises(rx.RefusalError, match='"packed" gave elements of float64, the result\'s are f32'):
        run(calling("call_pure_packed"), X, packed=lambda x: x.astype("float64"))
    with pytest.raises(
        rx.RefusalError, match=r'the function "packed": ZeroDivisionError: .* \(at interpreter/test_calls.py'
    ):
        run(calling("call_pure_packed"), X, packed=lambda x: 1 / 0)


def test_that_write_to_arguments() -> None:
    def packed(x: Any) -> Any:
        x[:] = 7
        return x

    assert [each.tolist() for each in run(calling("call_packed"), X.copy(), packed=packed)] == [[7, 7]] * 2
    inplace = calling("call_inplace_packed", attributes=", inplace_indices = array<i64: 0>")
    assert [each.tolist() for each in run(inplace, X, packed=packed)] == [[1, 2], [7, 7]]


def test_registered_with_tvm_ffi() -> None:
    import tvm_ffi

    @tvm_ffi.register_global_func("packed_for_reference", override=True)
    def packed(x: Any, out: Any) -> None:
        numpy.from_dlpack(out)[:] = numpy.from_dlpack(x) * 3

    text = calling("call_dps_packed").replace('"packed"', '"packed_for_reference"')
    assert run(text, X)[1].tolist() == [3, 6]
    with pytest.raises(rx.RefusalError, match=r'there is no function "packed": pass it by functions=\{"packed": ...\}'):
        run(calling("call_dps_packed"), X)


def test_prim_funcs_that_write_to_an_argument() -> None:
    text = f"""
func.func private @add(%x: memref<2xf32>, %out: memref<2xf32>) attributes {{tir.prim_func}} {{
  linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : memref<2xf32>) outs(%out : memref<2xf32>) {{
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }}
  return
}}
func.func @main(%x: {_T}, %y: {_T}) -> ({_T}, {_T}) {{
  %0 = "relax.call_tir_inplace"(%x, %y) {{func = @add, inplace_indices = array<i64: 1>}} : ({_T}, {_T}) -> {_T}
  return %0, %y : {_T}, {_T}
}}"""
    assert [each.tolist() for each in run(text, X, X)] == [[2, 4], [1, 2]]


def test_external_functions_with_a_body() -> None:
    text = f"""
module @part attributes {{relax.codegen = "dnnl"}} {{
  func.func @twice(%x: {_T}) -> {_T} {{
    %0 = "relax.add"(%x, %x) : ({_T}, {_T}) -> {_T}
    return %0 : {_T}
  }}
}}
func.func @main(%x: {_T}) -> {_T} {{
  %0 = "relax.call_external"(%x) {{func = @part::@twice}} : ({_T}) -> {_T}
  return %0 : {_T}
}}"""
    assert run(text, X).tolist() == [2, 4]


def test_effects(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""
func.func @main(%x: {_T}, %c: tensor<i1>, %n: i64) -> (i64, i64) {{
  "relax.print"(%x, %n) {{format = "{{1}}: {{0}}"}} : ({_T}, i64) -> ()
  "relax.print"(%x, %n) : ({_T}, i64) -> ()
  "relax.assert_op"(%c, %n) {{format = "not {{}}"}} : (tensor<i1>, i64) -> ()
  %0 = "relax.random_key"() : () -> i64
  %1 = "relax.random_key"() : () -> i64
  return %0, %1 : i64, i64
}}"""
    reference = rx.reference(rx.Module.parse(text))["main"]
    assert tuple(map(int, reference(X, numpy.array(True), 5))) == (0, 1)
    assert capsys.readouterr().out == "5: [1. 2.]\n[1. 2.] 5\n"
    assert tuple(map(int, reference(X, numpy.array(True), 5))) == (2, 3)
    with pytest.raises(AssertionError, match=r"^@main at .*: not 5$"):
        reference(X, numpy.array(False), 5)


def test_lists_and_what_is_left_out() -> None:
    text = f"""
func.func @main(%a: {_T}, %b: {_T}, %c: tensor<i1>) -> ({_T}, {_T}, tensor<i1>, {_T}) attributes {{
    relax.input_groups = [{{kind = "list", size = 2 : i64, name = "x"}},
                          {{kind = "nothing", size = 0 : i64, name = ""}},
                          {{kind = "value", size = 1 : i64, name = "c"}}],
    relax.result_groups = [{{kind = "list", size = 2 : i64, name = ""}},
                           {{kind = "value", size = 2 : i64, name = "", optional}}]}} {{
  return %b, %a, %c, %a : {_T}, {_T}, tensor<i1>, {_T}
}}"""
    turned, same = run(text, [X, X * 2], None, numpy.array(True))
    assert [each.tolist() for each in (*turned, same)] == [[2, 4], [1, 2], [1, 2]]
    assert run(text, [X, X], None, numpy.array(False))[1] is None
    with pytest.raises(rx.OptionError, match="main: argument #0 is a list of 2, got 1"):
        run(text, [X], None, numpy.array(False))
