# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Restoration after failures: an operation is as before after any change, and handles stay valid without a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.restoring import restored_on_failure

import relax_mlir as rx

TEXT = """
module {
  func.func @f(%a: f32, %b: f32) -> f32 {
    %0 = arith.addf %a, %b : f32
    %c = arith.constant true
    %1 = scf.if %c -> f32 {
      %2 = arith.mulf %0, %b : f32
      scf.yield %2 : f32
    } else {
      scf.yield %a : f32
    }
    return %1 : f32
  }
}
"""


def replaced(add: Any, _: Any) -> None:
    """Replace the operation by another one with the same operands, attributes and types."""
    with ir.InsertionPoint(add), add.location:
        made = ir.Operation.create("arith.subf", [each.type for each in add.results], list(add.operands))
        for name, attribute in add.attributes.items():
            made.attributes[name] = attribute
    add.results[0].replace_all_uses_with(made.results[0])
    add.erase()


def placed(add: Any, _: Any) -> None:
    """Recreate the operation with another location."""
    with ir.InsertionPoint(add):
        made = ir.Operation.create(
            add.name,
            [each.type for each in add.results],
            list(add.operands),
            dict(add.attributes.items()),
            loc=ir.Location.name("elsewhere", context=add.context),
        )
    add.results[0].replace_all_uses_with(made.results[0])
    add.erase()


def marked(add: Any, _: Any) -> None:
    add.attributes["mark"] = ir.UnitAttr.get()


def read_otherwise(_: Any, multiply: Any) -> None:
    multiply.operands[0] = multiply.operands[1]


def typed(add: Any, _: Any) -> None:
    add.results[0].set_type(ir.F64Type.get())


def added(_: Any, multiply: Any) -> None:
    with ir.InsertionPoint(multiply), multiply.location:
        ir.Operation.create("ub.poison", [ir.F32Type.get()])


def dropped(add: Any, multiply: Any) -> None:
    multiply.operands[0] = multiply.operands[1]
    add.erase()


def given_an_argument(add: Any, _: Any) -> None:
    add.parent.regions[0].blocks[0].add_argument(ir.F32Type.get(), add.location)


def text_of(module: rx.Module) -> str:
    return str(module.operation.get_asm(enable_debug_info=True))


def found(module: rx.Module) -> list[Any]:
    return [op for op in operations_in(module.operation) if op.name in ("arith.addf", "arith.mulf")]


@pytest.mark.parametrize(
    "change",
    [replaced, placed, marked, read_otherwise, typed, added, dropped, given_an_argument],
    ids=lambda change: change.__name__,
)
def test_changes_are_undone_after_a_failure(change: Callable[[Any, Any], None]) -> None:
    module = rx.Module.parse(TEXT)
    before = text_of(module)
    with pytest.raises(KeyError), module.context, restored_on_failure(module.operation):
        change(*found(module))
        assert text_of(module) != before
        raise KeyError
    assert text_of(module) == before


def test_unchanged_operations_keep_their_handles() -> None:
    module = rx.Module.parse(TEXT)
    add, multiply = found(module)
    with pytest.raises(KeyError), restored_on_failure(module.operation):
        raise KeyError
    assert found(module) == [add, multiply]


def test_changes_without_a_failure_stay() -> None:
    module = rx.Module.parse(TEXT)
    with module.context, restored_on_failure(module.operation):
        read_otherwise(*found(module))
    assert found(module)[1].operands[0] == found(module)[1].operands[1]
