# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions that change types: of functions, blocks, calls and control flow, with what is left named."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from chains import create, to
from relax_mlir.bindings.conversion import Conversion
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx

SYMBOLIC = """
func.func private @g(TENSOR) -> TENSOR
func.func @f(%a: TENSOR, %c: i1, %i: index) -> TENSOR {
  %0 = "relax.exp"(%a) : (TENSOR) -> TENSOR
  %1 = scf.if %c -> TENSOR {
    %5 = "relax.exp"(%0) : (TENSOR) -> TENSOR
    scf.yield %5 : TENSOR
  } else {
    scf.yield %0 : TENSOR
  }
  %2 = scf.for %k = %i to %i step %i iter_args(%x = %1) -> TENSOR {
    %y = func.call @g(%x) : (TENSOR) -> TENSOR
    scf.yield %y : TENSOR
  }
  %3:2 = scf.while (%w = %2, %b = %c) : (TENSOR, i1) -> (TENSOR, i1) {
    scf.condition(%b) %w, %b : TENSOR, i1
  } do {
  ^bb0(%w: TENSOR, %b: i1):
    scf.yield %w, %b : TENSOR, i1
  }
  cf.cond_br %c, ^bb1(%3#0 : TENSOR), ^bb1(%0 : TENSOR)
^bb1(%z: TENSOR):
  return %z : TENSOR
}""".replace("TENSOR", 'tensor<?xf32, #relax.sym<["n"]>>')


def without_symbols(type_: Any) -> Any:
    if isinstance(type_, ir.RankedTensorType) and type_.encoding is not None:
        return ir.RankedTensorType.get(list(type_.shape), type_.element_type)
    return None


def test_types_of_functions_blocks_calls_and_control_flow() -> None:
    code = rx.Module.parse(SYMBOLIC)
    conversion = Conversion("test")
    conversion.convert_types(without_symbols)
    conversion.legal_if(conversion.types.is_converted, "relax")
    conversion.add("relax.exp", to("relax.exp"))
    conversion.run(code)
    code.verify()
    text = str(code)
    assert "relax.sym" not in text
    assert "unrealized_conversion_cast" not in text
    assert text.count('"relax.exp"') == 2


def test_what_does_not_follow_the_types_is_named() -> None:
    conversion = Conversion("test")
    conversion.convert_types(without_symbols)
    conversion.legal_if(conversion.types.is_converted, "relax")
    with pytest.raises(RelaxError) as caught:
        conversion.run(rx.Module.parse(SYMBOLIC))
    # The operators, not the casts around them.
    assert [item.message.partition(" (")[0] for item in caught.value.diagnostics] == [
        "test cannot convert 'relax.exp' op"
    ] * 2


def test_casts_that_are_left_are_named() -> None:
    conversion = Conversion("test")
    conversion.convert_types(without_symbols)
    with pytest.raises(RelaxError) as caught:
        conversion.run(rx.Module.parse(SYMBOLIC))
    assert caught.value.diagnostics[0].message == (
        'test leaves a cast: tensor<?xf32> is still needed as tensor<?xf32, #relax.sym<["n"]>> by relax.exp'
    )


def test_values_must_have_the_converted_type() -> None:
    conversion = Conversion("test")
    conversion.convert_types(without_symbols)
    conversion.add("relax.exp", lambda op, operands, rewriter: create(op, "relax.sin"))
    with pytest.raises(
        RelaxError, match=r"returned a value of type .*relax.sym.* for result #0, but tensor<\?xf32> is"
    ):
        conversion.run(rx.Module.parse(SYMBOLIC))


def test_the_last_type_function_is_asked_first_and_must_answer_with_a_type() -> None:
    conversion = Conversion("test")
    conversion.convert_types(without_symbols)
    asked = []
    conversion.convert_types(lambda type_: asked.append(type_))
    conversion.add("relax.exp", to("relax.exp"))
    conversion.legal_if(conversion.types.is_converted, "relax")
    conversion.run(rx.Module.parse(SYMBOLIC))
    assert asked
    conversion.convert_types(lambda type_: "f32")
    with pytest.raises(RelaxError, match="returned 'f32', which is not a type"):
        conversion.run(rx.Module.parse(SYMBOLIC))


def test_type_functions_are_kept_alive() -> None:
    """MLIR keeps neither the converter nor its functions: a forgotten lambda would be called after it was freed."""
    conversion = Conversion("test")
    for _ in range(3):
        conversion.convert_types(lambda type_: without_symbols(type_))
    conversion.add("relax.exp", to("relax.exp"))
    conversion.legal_if(conversion.types.is_converted, "relax")
    for _ in range(5):
        code = rx.Module.parse(SYMBOLIC)
        gc.collect()
        conversion.run(code)
        code.verify()
