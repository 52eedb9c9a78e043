# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fresh names for sizes of a rule: none of them exists in the module."""

from __future__ import annotations

from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.emit.kernels import FreshSymbols

_OF_AN_ARGUMENT = 'tensor<?xf32, #relax.sym<["size_0"]>>'
_OF_A_RESULT = 'tensor<?xf32, #relax.sym<["size_1"]>>'
_IN_AN_EXPRESSION = 'tensor<?xf32, #relax.sym<["2*size_2 + size_4"]>>'
MODULE = f"""
func.func @main(%x: {_OF_AN_ARGUMENT}, %n: i1) {{
  %y = "relax.match_cast"(%x) : ({_OF_AN_ARGUMENT}) -> {_OF_A_RESULT}
  scf.if %n {{
    %z = "relax.match_cast"(%x) : ({_OF_AN_ARGUMENT}) -> {_IN_AN_EXPRESSION}
  }}
  return
}}"""


def test_names_that_the_module_has_are_left_out() -> None:
    with create_context(), ir.Location.unknown():
        symbols = FreshSymbols(ir.Module.parse(MODULE).operation)
        assert [symbols.next() for _ in range(3)] == ["size_3", "size_5", "size_6"]
        assert FreshSymbols(ir.Module.parse("module {}").operation).next() == "size_0"
