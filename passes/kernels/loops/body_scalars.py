# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions of block bodies, which steps compose and compare before code is emitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_not

from ....bindings.ir import Attribute, Operation, Type, Value
from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....support.replacing import replace
from .tree_buffers import Buffer


class Expr(ABC):
    """Scalar expression: one of the classes below."""

    def parts(self) -> Sequence[Expr]:
        """Return the direct subexpressions."""
        return ()

    @abstractmethod
    def on(self, parts: Sequence[Expr]) -> Expr:
        """Return the same expression with other subexpressions."""

    def walk(self) -> Iterator[Expr]:
        """Yield the expression and its subexpressions, each once."""
        seen: set[int] = set()
        waiting: list[Expr] = [self]
        while waiting:
            expr = waiting.pop()
            if id(expr) not in seen:
                seen.add(id(expr))
                yield expr
                waiting += expr.parts()

    def elements(self) -> set[int]:
        """Return the numbers of the elements in the expression."""
        return {each.number for each in self.walk() if isinstance(each, Element)}

    def iters(self) -> set[str]:
        """Return the names in the expression's indices: iters and symbolic sizes."""
        return {name for each in self.walk() if isinstance(each, IterIndex) for name in variables_of(each.value)}

    def rewritten(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """Replace each part for which `change(part)` is not None. Unchanged subexpressions keep their identity."""
        exprs: dict[int, Expr] = {}

        def visit(expr: Expr) -> Expr:
            if id(expr) not in exprs:
                changed, parts = change(expr), expr.parts()
                if changed is None:
                    others = [visit(part) for part in parts]
                    changed = expr.on(others) if any(map(is_not, others, parts)) else expr
                exprs[id(expr)] = changed
            return exprs[id(expr)]

        return visit(self)

    def with_buffers(self, others: Mapping[Buffer, Buffer]) -> Expr:
        def change(expr: Expr) -> Expr | None:
            if isinstance(expr, Load) and expr.buffer in others:
                return replace(
                    expr.on([part.with_buffers(others) for part in expr.indices]), buffer=others[expr.buffer]
                )
            return None

        return self.rewritten(change)

    def at(self, values: Mapping[str, Size]) -> Expr:
        """Substitute values for iters."""

        def change(expr: Expr) -> Expr | None:
            if not isinstance(expr, IterIndex):
                return None
            value = substituted(expr.value, values)
            return None if value is expr.value else IterIndex(value)

        return self.rewritten(change)

    def renumbered(self, numbers: Mapping[int, int]) -> Expr:
        """Renumber the elements."""
        return self.rewritten(lambda each: Element(numbers[each.number]) if isinstance(each, Element) else None)


@dataclass(frozen=True, eq=False)
class Element(Expr):
    """Element of an access of the block. Reads come first, then the previous values of the outputs."""

    number: int

    def on(self, parts: Sequence[Expr]) -> Expr:
        del parts
        return self


@dataclass(frozen=True, eq=False)
class IterIndex(Expr):
    """Value of type index over the block's iters."""

    value: Size

    def on(self, parts: Sequence[Expr]) -> Expr:
        del parts
        return self


@dataclass(frozen=True, eq=False)
class Outside(Expr):
    """Value of the PrimFunc that is defined before its blocks."""

    value: Value

    def on(self, parts: Sequence[Expr]) -> Expr:
        del parts
        return self


@dataclass(frozen=True, eq=False)
class Load(Expr):
    """Element at computed indices."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    def parts(self) -> Sequence[Expr]:
        return self.indices

    def on(self, parts: Sequence[Expr]) -> Load:
        return replace(self, indices=tuple(parts))


@dataclass(frozen=True, eq=False)
class Compute(Expr):
    """Operation with one result and without side effects."""

    name: str
    operands: tuple[Expr, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    type: Type

    def parts(self) -> Sequence[Expr]:
        return self.operands

    def on(self, parts: Sequence[Expr]) -> Compute:
        return replace(self, operands=tuple(parts))


@dataclass(frozen=True, eq=False)
class ConditionalScalar(Expr):
    """Conditional expression, an scf.if: only the chosen branch is computed."""

    condition: Expr
    yes: Expr
    no: Expr
    type: Type

    def parts(self) -> Sequence[Expr]:
        return self.condition, self.yes, self.no

    def on(self, parts: Sequence[Expr]) -> ConditionalScalar:
        condition, yes, no = parts
        return ConditionalScalar(condition, yes, no, self.type)


def attributes_of(op: Operation) -> tuple[tuple[str, Attribute], ...]:
    return tuple((name, op.attributes[name]) for name in op.attributes)
