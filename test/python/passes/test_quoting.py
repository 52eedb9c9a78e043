# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quoted operations: each on a line of its own, with names for operands, and short values inline."""

from __future__ import annotations

import pytest
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.core.quoting import Quoter

import relax_mlir as rx

GRAPH = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<8x4xf32> {
  %two = arith.constant dense<2.0> : tensor<f32>
  %0 = "relax.multiply"(%x, %two) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32> loc("a/Mul")
  %1 = "relax.multiply"(%0, %y) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = "relax.permute_dims"(%1) {axes = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32> loc("a/Mul")
  return %2 : tensor<8x4xf32>
}
"""


def quotes(text: str, *names: str, allow_unregistered: bool = False) -> list[str]:
    module = rx.Module.parse(text, allow_unregistered=allow_unregistered)
    function = module.body.operations[0].operation
    quoter = Quoter(dict(zip(function.regions[0].blocks[0].arguments, names, strict=True)))
    wanted = [op for op in operations_in(function) if op.name.startswith(("relax.", "their."))]
    return [quoter.quote(op) for op in wanted]


def test_quoted_operators_refer_to_earlier_lines() -> None:
    first, second, third = quotes(GRAPH, "x", "odd name")
    assert first.startswith("a_Mul: R.Tensor((4, 8)") and first.endswith('= R.multiply(x, R.const(2.0, "float32"))')
    name = second.partition(":")[0]
    assert second.endswith("= R.multiply(a_Mul, odd_name)")
    assert third.startswith("a_Mul_1: ") and third.endswith(f"= R.permute_dims({name}, axes=(1, 0))")


@pytest.mark.parametrize("names", [("", "_"), ("for", "for"), ("R", "a/Mul")])
def test_names_are_names_and_each_is_one_values(names: tuple[str, str]) -> None:
    texts = quotes(GRAPH, *names)
    compile("\n".join(texts), "quotes", "exec")
    second = texts[1].partition("R.multiply(")[2]
    assert texts[0].partition("R.multiply(")[2].partition(",")[0] != second.partition(", ")[2]


def test_long_quotes_are_cut() -> None:
    text = 'func.func @main(%x: i32) { "their.op"(%x) {a = "' + "a" * 10_000 + '"} : (i32) -> () return }'
    (quote,) = quotes(text, "x", allow_unregistered=True)
    assert "their.op" in quote and quote.endswith("aa...") and len(quote) < 1000


def test_operations_without_a_form_have_an_empty_quote() -> None:
    nested = "scf.if %c {" * 90 + '"their.op"() : () -> ()' + "}" * 90
    deep = f"""func.func @main(%x: i32, %c: i1) {{
      "their.op"(%x) ({{ {nested} }}) : (i32) -> () "their.op"(%x) : (i32) -> () return }}"""
    module = rx.Module.parse(deep, allow_unregistered=True)
    function = module.body.operations[0].operation
    first, second, _ = function.regions[0].blocks[0].operations
    quoter = Quoter(dict(zip(function.regions[0].blocks[0].arguments, "xc", strict=True)))
    assert quoter.quote(first.operation) == ""
    assert "their.op" in quoter.quote(second.operation)
