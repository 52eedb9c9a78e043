# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of operators with undetermined shapes, element types and attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.passes.patterns.tree import OfType


@dataclass(eq=False)
class Node:
    """A value of a tree, with conditions on its type."""

    conditions: list[OfType] = field(default_factory=list)

    def accepts(self, value: Value) -> bool:
        info = decode(value.type)
        return isinstance(info, TensorInfo) and not any(condition.problem(info) for condition in self.conditions)


@dataclass(eq=False)
class Leaf(Node):
    """An input or a constant, possibly a required number everywhere."""

    is_constant: bool = False
    number: float | None = None


@dataclass(eq=False)
class Made(Node):
    """Result of an operator. `operands` is None if the pattern does not state them."""

    op: str = ""
    operands: dict[str, tuple[Node, ...]] | None = None
    attributes: tuple[tuple[str, Any], ...] = ()
    is_open: bool = False


@dataclass(eq=False)
class Part(Node):
    """One of several results."""

    of: Made = field(default_factory=Made)
    index: int = 0


@dataclass(eq=False)
class Tree:
    """Operators in topological order, and the returned values."""

    operators: list[Made]
    results: list[Node]
    name: str = ""
