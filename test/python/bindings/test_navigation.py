# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traversal of IR: all operations in an operation, and the operations of a name."""

from __future__ import annotations

from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in, operations_named

import relax_mlir as rx

_NESTED = """
func.func @f(%c: i1) {
  cf.br ^end
^unreachable:
  %lost = arith.constant 9 : i32
  cf.br ^end
^end:
  scf.if %c {
    %0 = arith.constant 1 : i32
    scf.if %c {
      %1 = arith.constant 2 : i32
    }
    %2 = arith.constant 3 : i32
  }
  return
}
module @inside {
  func.func @g() {
    %0 = arith.constant 4 : i32
    return
  }
}
"""


def _nested() -> rx.Module:
    return rx.Module.parse(_NESTED)


def test_operations_of_a_name_are_in_the_order_of_the_text_inner_ones_first() -> None:
    """Skip operations of unreachable blocks."""
    module = _nested()
    found = operations_named(module.operation, "arith.constant")
    assert [op.attributes["value"].value for op in found] == [1, 2, 3, 4]
    assert [op for op in operations_in(module.operation) if op in found] == found
    outer, inner = [op for op in operations_in(module.operation) if op.name == "scf.if"]
    assert operations_named(module.operation, "scf.if") == [inner, outer]
    assert operations_named(outer, "scf.if") == [inner], "itself left out"


def test_operations_named_takes_several_none_and_unknown_names() -> None:
    module = _nested()
    functions = operations_named(module.operation, "func.func", "builtin.module", "func.func")
    assert [op.name for op in functions] == ["func.func", "func.func", "builtin.module"]
    assert operations_named(module.operation) == operations_named(module.operation, "no_dialect.op") == []


def test_found_operations_are_the_module_s_own() -> None:
    """Change operations while later ones of the list are still to come."""
    module = _nested()
    for op in operations_named(module.operation, "arith.constant"):
        with op.context:
            op.attributes["value"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 7)
            copied = op.clone()
            op.erase()
            copied.operation.erase()
    assert operations_named(module.operation, "arith.constant") == []
    assert "arith.constant 9" in str(module)
