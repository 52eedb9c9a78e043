# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs of rules: one for each kernel and types, with unique names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from relax_mlir.bindings.mlir import ir, string_value
from relax_mlir.dialects.context import create_context
from relax_mlir.emit.kernels import kernel_symbol
from relax_mlir.support.errors import RelaxError

TEXT = """
func.func @taken(%x: memref<4xf32>, %out: memref<4xf32>) attributes {tir.prim_func} {
  return
}"""


def mine(*buffers: Any) -> None:
    """Emit loops that do nothing."""


@pytest.fixture
def module() -> Iterator[Any]:
    with create_context(), ir.Location.unknown():
        yield ir.Module.parse("func.func @taken() { return }")


def symbols(module: Any) -> set[str]:
    return {string_value(each.operation.attributes["sym_name"]) for each in module.body.operations}


def added(module: Any, kernel: Any, known: dict[Any, str], *types: str) -> str:
    """Return a kernel's symbol for inputs of these types. The last type is also the result's."""
    parsed = [ir.Type.parse(text) for text in types]
    return kernel_symbol(kernel, parsed, parsed[-1:], known, module.operation)


def test_a_function_is_there_once_for_each_types(module: Any) -> None:
    known: dict[Any, str] = {}
    first = added(module, mine, known, "tensor<4xf32>")
    assert added(module, mine, known, "tensor<4xf32>") == first == "mine"
    others = {
        added(module, mine, known, *types)
        for types in (["tensor<5xf32>"], ["tensor<4xf64>"], ["tensor<4xf32>", "tensor<4xf32>"])
    }
    assert len(others | {first}) == 4 and symbols(module) == {"taken", *others, first}


def test_a_text_is_there_once(module: Any) -> None:
    known: dict[Any, str] = {}
    first = added(module, TEXT, known, "tensor<4xf32>")
    # It says itself which types it takes; whether a call has these is seen when the call is verified.
    assert added(module, TEXT, known, "tensor<?xf32>") == first
    assert first != "taken" and symbols(module) == {"taken", first}
    assert added(module, TEXT + "\n", known, "tensor<4xf32>") not in ("taken", first)


def test_a_function_without_a_name_that_can_be_a_symbol(module: Any) -> None:
    assert added(module, lambda *buffers: None, {}, "tensor<4xf32>") == "lambda"
    nameless = type("Writes", (), {"__call__": lambda self, *buffers: None})()
    assert added(module, nameless, {}, "tensor<4xf32>") == "kernel"


@pytest.mark.parametrize(
    ("kernel", "type_", "message"),
    [
        (
            3,
            "tensor<4xf32>",
            "a PrimFunc is MLIR text, a module of one (@T.prim_func, te.create_prim_func) or a Python function",
        ),
        (mine, "tensor<*xf32>", "a PrimFunc in Python needs tensors of known rank, got tensor<*xf32>"),
        ("func.func @f() { return }", "tensor<4xf32>", "with the attribute tir.prim_func, found func.func"),
        ("", "tensor<4xf32>", "with the attribute tir.prim_func, found nothing"),
        (TEXT + TEXT.replace("taken", "other"), "tensor<4xf32>", "tir.prim_func, found func.func, func.func"),
        ("func.func @f(", "tensor<4xf32>", "<PrimFunc>:1:"),
    ],
)
def test_added_kernels_refuse_wrong_names_and_types(module: Any, kernel: Any, type_: str, message: str) -> None:
    with pytest.raises(RelaxError) as caught:
        added(module, kernel, {}, type_)
    assert message in str(caught.value)
    assert symbols(module) == {"taken"}, "nothing is left half done"
