# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptions of dialects that are built in one context and loaded into others."""

from __future__ import annotations

from typing import Any

import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.irdl import (
    KeptDescription,
    Operand,
    OpShape,
    ParamShape,
    build_irdl_module,
    irdl_name,
    is_verifiable,
    without_clashes,
)
from relax_mlir.bindings.mlir import ir, load_irdl
from relax_mlir.dialects.core import dialect as dialect_module
from relax_mlir.dialects.core.dialect import Dialect

DOTTED = OpShape("nn.twice", [Operand("x")], [Operand("x")])
RIGHT, WRONG = '%a = "mine.nn.twice"(%b) : (i32) -> i32', '%a = "mine.nn.twice"(%b, %b) : (i32, i32) -> i32'


def parsed(context: Any, operation: str) -> Any:
    with context:
        return ir.Module.parse(f"func.func @f(%b: i32) {{ {operation} return }}")


def test_a_kept_description_describes_in_another_context_what_it_did_in_its_own() -> None:
    first, second = new_context(("func",)), new_context(("func",))
    module = build_irdl_module("mine", [], [], [without_clashes(DOTTED)], first, irdl_name)
    kept = KeptDescription(module, [DOTTED.name])
    for context, described in ((first, module), (second, kept.read(second))):
        load_irdl(described)
        assert "mine.nn.twice" in str(parsed(context, RIGHT))
        with pytest.raises(ir.MLIRError, match="expects exactly 1 operands, but got 2"):
            parsed(context, WRONG)


@pytest.mark.parametrize(
    "shape",
    [OpShape("größe", [], []), OpShape("size", [Operand("X")], []), ParamShape("T", []), ParamShape("t", ["ß"])],
    ids=str,
)
def test_names_that_the_verifier_refuses(shape: OpShape | ParamShape) -> None:
    assert is_verifiable([DOTTED]) and not is_verifiable([DOTTED, shape])


def test_a_dialect_with_such_names_is_known_to_every_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect_module, "_DIALECTS", {})
    mine = Dialect("mine")
    mine.op("größe", "X:any", explicit="result")
    for _ in range(2):
        context = new_context(("func",))
        mine.load(context)
        parsed(context, '%a = "mine.größe"(%b) : (i32) -> i32')
