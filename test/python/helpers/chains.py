# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that apply unary operators one after the other, and patterns that replace one by another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.bindings.mlir import ir

import relax_mlir as rx


def create(op: Any, name: str, operand: Any = None) -> Any:
    """Make a unary operation of the matched operation's type."""
    operands = [op.operation.operands[0] if operand is None else operand]
    return ir.Operation.create(name, results=op.operation.results.types, operands=operands)


def body_of(module: Any) -> Any:
    """Return the operations of the first function."""
    return module.body.operations[0].regions[0].blocks[0].operations


def op_names(module: Any) -> list[str]:
    return [op.operation.name for op in body_of(module)]


def to(name: str) -> Callable[..., Any]:
    """Return a pattern that makes a unary operation of this name."""

    def convert(op: Any, operands: Any, rewriter: Any) -> Any:
        return ir.Operation.create(name, results=rewriter.result_types, operands=operands)

    convert.__name__ = f"to_{name.partition('.')[2]}"
    return convert


def chain(*names: str) -> rx.Module:
    """Return a function that applies the operators one after the other."""
    lines = [f'%{i + 1} = "{name}"(%{i}) : (tensor<4xf32>) -> tensor<4xf32>' for i, name in enumerate(names)]
    text = "\n".join(["func.func @f(%0: tensor<4xf32>) -> tensor<4xf32> {", *lines])
    return rx.Module.parse(f"\n{text}\nreturn %{len(names)} : tensor<4xf32>\n}}", "in.mlir")
