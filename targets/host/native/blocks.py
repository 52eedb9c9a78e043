# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of a host function in emission, with the variables of the source as SSA values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .types import llvm_type


class CodeValue(NamedTuple):
    """Value in the code. The name is empty for nothing."""

    type: Any
    name: str


@dataclass(eq=False)
class CodeBlock:
    """Block of a function. An edge to it holds the variables of its predecessor."""

    label: str
    edges: list[dict[str, CodeValue]] = field(default_factory=list)
    #: Variables that differ between predecessors, as arguments.
    arguments: dict[str, CodeValue] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    #: Condition, successors with the edges to them, weights; or none if the lines return.
    condition: str = ""
    successors: tuple[tuple[CodeBlock, dict[str, CodeValue]], ...] = ()
    weights: str = ""

    def text(self) -> str:
        listed = ", ".join(f"{value.name}: {llvm_type(value.type)}" for value in self.arguments.values())
        lines = [f"{self.label}({listed}):" if listed else f"{self.label}:", *self.lines]
        targets = ", ".join(target.reference(edge) for target, edge in self.successors)
        if targets:
            lines.append(
                f"llvm.cond_br {self.condition}{self.weights}, {targets}" if self.condition else f"llvm.br {targets}"
            )
        return "\n".join(lines)

    def reference(self, edge: dict[str, CodeValue]) -> str:
        if not self.arguments:
            return self.label
        types = ", ".join(llvm_type(value.type) for value in self.arguments.values())
        return f"{self.label}({', '.join(edge[name].name for name in self.arguments)} : {types})"


class FunctionCode:
    """Blocks of one function, and the place where code is added."""

    def __init__(self, parameters: dict[str, CodeValue]) -> None:
        #: Current block, or None behind a return. The variables that have a value there.
        self.block: CodeBlock | None = None
        self.variables = dict(parameters)
        self._all: list[CodeBlock] = []
        self._head: list[str] = []
        self._count = 0
        self.start(CodeBlock("^entry", [self.variables]))

    def is_open(self) -> bool:
        """Check whether code can be added: the last block has no end."""
        return self.block is not None

    def new(self) -> CodeBlock:
        self._count += 1
        return CodeBlock(f"^b{self._count}")

    def name(self) -> str:
        self._count += 1
        return f"%{self._count}"

    def add(self, line: str, *, is_first: bool = False) -> None:
        """Add a line, or add it to the beginning of the function."""
        assert self.block is not None
        (self._head if is_first else self.block.lines).append(line)

    def jump(self, target: CodeBlock) -> None:
        self._end((target,))

    def branch(self, condition: str, then: CodeBlock, otherwise: CodeBlock, weights: str = "") -> None:
        assert self.block is not None
        self.block.condition, self.block.weights = condition, weights
        self._end((then, otherwise))

    def leave(self, line: str) -> None:
        """End the block with a return."""
        self.add(line)
        self.block = None

    def _end(self, targets: Iterable[CodeBlock]) -> None:
        assert self.block is not None
        edges = [(target, dict(self.variables)) for target in targets]
        for target, edge in edges:
            target.edges.append(edge)
        self.block.successors, self.block = tuple(edges), None

    def start(self, block: CodeBlock, changing: Iterable[str] | None = None) -> None:
        """Continue in a block that has all its edges, or in a loop's, where `changing` variables may get more."""
        if not block.edges:
            return
        first, *others = block.edges
        shared = {name: value for name, value in first.items() if all(name in edge for edge in others)}
        if changing is None:
            shared = {
                name: value for name, value in shared.items() if all(edge[name].type == value.type for edge in others)
            }
            changing = [name for name, value in shared.items() if any(edge[name] != value for edge in others)]
        for name in changing:
            if name in shared:
                shared[name] = block.arguments[name] = CodeValue(shared[name].type, self.name())
        self.block, self.variables = block, shared
        self._all.append(block)

    def text(self) -> str:
        entry, *others = self._all
        body = [*self._head, *entry.text().splitlines()[1:], *(block.text() for block in others)]
        return "\n".join(body)
