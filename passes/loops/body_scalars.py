# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar expressions of blocks' bodies: composed and compared before they are emitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import TYPE_CHECKING, Union

from ...bindings.ir import Attribute, Operation, Type, Value
from ...dialects.core.symbols_expr import Size, substituted, variables_of
from ...support.replacing import replace

if TYPE_CHECKING:
    from .tree import Buffer


class _Walkable:
    """What all expressions can be asked."""

    def parts(self) -> Sequence[Expr]:
        return ()

    def walk(self) -> Iterator[Expr]:
        """The expression and its parts, each once."""
        seen: set[int] = set()
        waiting: list[Expr] = [self]  # type: ignore[list-item]  # the classes below are all
        while waiting:
            expr = waiting.pop()
            if id(expr) not in seen:
                seen.add(id(expr))
                yield expr
                waiting += expr.parts()

    def elements(self) -> set[int]:
        """The numbers of the elements that it is made of."""
        return {each.number for each in self.walk() if isinstance(each, Element)}

    def iters(self) -> set[str]:
        """Names in indices that it is made of: iters, and sizes."""
        return {name for each in self.walk() if isinstance(each, IterIndex) for name in variables_of(each.value)}

    def rewritten(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """With `change(part)` in place of parts for which that is not None; what nothing changes in is the same."""
        made: dict[int, Expr] = {}

        def visit(expr: Expr) -> Expr:
            if id(expr) not in made:
                changed, parts = change(expr), expr.parts()
                if changed is None:
                    others = [visit(part) for part in parts]
                    changed = expr.on(others) if any(map(is_not, others, parts)) else expr
                made[id(expr)] = changed
            return made[id(expr)]

        return visit(self)  # type: ignore[arg-type]

    def with_buffers(self, others: Mapping[Buffer, Buffer]) -> Expr:
        def change(expr: Expr) -> Expr | None:
            if isinstance(expr, Load) and expr.buffer in others:
                return replace(
                    expr.on([part.with_buffers(others) for part in expr.indices]), buffer=others[expr.buffer]
                )
            return None

        return self.rewritten(change)

    def at(self, values: Mapping[str, Size]) -> Expr:
        """With other values in place of iters."""

        def change(expr: Expr) -> Expr | None:
            value = substituted(expr.value, values) if isinstance(expr, IterIndex) else None
            return None if value is None or value is expr.value else IterIndex(value)  # type: ignore[union-attr]

        return self.rewritten(change)

    def renumbered(self, numbers: Mapping[int, int]) -> Expr:
        """With other numbers of elements."""
        return self.rewritten(lambda each: Element(numbers[each.number]) if isinstance(each, Element) else None)


@dataclass(frozen=True, eq=False)
class Element(_Walkable):
    """What an access of the block gives: those of reads first, then what outputs held before."""

    number: int

    def on(self, parts: Sequence[Expr]) -> Expr:
        del parts
        return self


@dataclass(frozen=True, eq=False)
class IterIndex(_Walkable):
    """A number of type index, over the block's iters."""

    value: Size

    def on(self, parts: Sequence[Expr]) -> Expr:
        del parts
        return self


@dataclass(frozen=True, eq=False)
class Outside(_Walkable):
    """A value of the PrimFunc that is there before its blocks run."""

    value: Value

    def on(self, parts: Sequence[Expr]) -> Expr:
        del parts
        return self


@dataclass(frozen=True, eq=False)
class Load(_Walkable):
    """An element at a place that is computed."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    def parts(self) -> Sequence[Expr]:
        return self.indices

    def on(self, parts: Sequence[Expr]) -> Load:
        return replace(self, indices=tuple(parts))


@dataclass(frozen=True, eq=False)
class Compute(_Walkable):
    """An operation without effects and with one result."""

    name: str
    operands: tuple[Expr, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    type: Type

    def parts(self) -> Sequence[Expr]:
        return self.operands

    def on(self, parts: Sequence[Expr]) -> Compute:
        return replace(self, operands=tuple(parts))


@dataclass(frozen=True, eq=False)
class Choice(_Walkable):
    """An scf.if: of two expressions only one is computed."""

    condition: Expr
    yes: Expr
    no: Expr
    type: Type

    def parts(self) -> Sequence[Expr]:
        return self.condition, self.yes, self.no

    def on(self, parts: Sequence[Expr]) -> Choice:
        condition, yes, no = parts
        return Choice(condition, yes, no, self.type)


Expr = Union[Element, IterIndex, Outside, Load, Compute, Choice]  # noqa: UP007  # made while this is imported


def attributes_of(op: Operation) -> tuple[tuple[str, Attribute], ...]:
    return tuple((name, op.attributes[name]) for name in op.attributes)
