# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C expressions as text, with brackets where C or its readers need them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

# Precedence of an expression's outermost operator.
ATOM, UNARY, PRODUCT, SUM, SHIFT, COMPARISON, BITS, LOGIC, CHOICE = 9, 8, 7, 6, 5, 4, 3, 2, 1

_LEVELS = {
    "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "+": SUM, "-": SUM, "<<": SHIFT, ">>": SHIFT,
    "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON, ">=": COMPARISON, "==": COMPARISON, "!=": COMPARISON,
    "&": BITS, "|": BITS, "^": BITS, "&&": LOGIC, "||": LOGIC,
}  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """Text of a value. Sizes support + and *, also with int operands, which are folded."""

    text: str
    level: int = ATOM
    #: True if the expression reads memory, so that it must be evaluated before later writes.
    reads: bool = False
    #: True if the expression consists of loop counters, sizes and numbers only, so that it does not wrap around.
    is_place: bool = False
    #: True if the value is known to be nonnegative.
    is_natural: bool = False

    @property
    def number(self) -> int | None:
        """The value of an integer literal, else None."""
        return int(self.text) if self.text.removeprefix("-").isdigit() else None

    @property
    def atom(self) -> str:
        """Text with brackets, for contexts where anything looser than a call needs them."""
        return self.text if self.level == ATOM else f"({self.text})"

    def within(self, level: int) -> str:
        """Return the text as operand of an operator of this precedence."""
        return self.text if self.level > level else f"({self.text})"

    def __add__(self, other: Size) -> Expression:
        if isinstance(other, int) and other <= 0:
            return self if other == 0 else binary("-", self, integer(-other))
        right = of_size(other)
        if self.is_place and right.is_place and right.level == SUM:
            return joined(f"{self.within(SHIFT)} + {right.text}", SUM, self, right)  # places do not wrap around
        return binary("+", self, right)

    __radd__ = __add__

    def __mul__(self, other: Size) -> Size:
        if isinstance(other, int) and other in (0, 1):
            return self if other else 0
        return binary("*", self, of_size(other))

    def __rmul__(self, other: int) -> Size:
        return self * other if other in (0, 1) else binary("*", integer(other), self)


Size = Expression | int


def name(text: str, *, is_place: bool = False, is_natural: bool = False) -> Expression:
    return Expression(text, is_place=is_place, is_natural=is_natural)


def integer(value: int) -> Expression:
    return Expression(str(value), ATOM if value >= 0 else UNARY, is_place=True, is_natural=value >= 0)


def joined(text: str, level: int, *operands: Expression) -> Expression:
    """Return an expression with an operator's text, and flags derived from its operands."""
    reads = any(operand.reads for operand in operands)
    is_place = bool(operands) and all(operand.is_place for operand in operands)
    is_natural = bool(operands) and all(operand.is_natural for operand in operands)
    return Expression(text, level, reads, is_place, is_natural)


def binary(operator: str, left: Expression, right: Expression) -> Expression:
    """Return a binary operation.

    Operands that are operations themselves have brackets, except in sums of products and in left-associative chains.
    """
    level = _LEVELS[operator]
    is_chained = left.level == level and level in (SUM, PRODUCT)
    first = left.text if is_chained or left.level >= UNARY or (level, left.level) == (SUM, PRODUCT) else left.atom
    is_term = (level, right.level) == (SUM, PRODUCT)
    second = right.text if right.level == ATOM or is_term or (right.level == UNARY and level != SUM) else right.atom
    if level == COMPARISON:
        first, second = left.within(COMPARISON + 1), right.within(COMPARISON + 1)
    if level == LOGIC:
        first, second = (
            expression.text if expression.level == COMPARISON else expression.atom for expression in (left, right)
        )
    made = joined(f"{first} {operator} {second}", level, left, right)
    return replace(made, is_natural=made.is_natural and operator != "-")


def unary(operator: str, operand: Expression) -> Expression:
    text = operand.text if operand.level == ATOM and not operand.text.startswith(operator) else f"({operand.text})"
    return replace(joined(operator + text, UNARY, operand), is_natural=False)


def call(function: str, *operands: Expression) -> Expression:
    made = joined(f"{function}({', '.join(operand.text for operand in operands)})", ATOM, *operands)
    return replace(made, is_place=False, is_natural=False)


def cast(type_: str, operand: Expression) -> Expression:
    return joined(f"({type_}){operand.atom}", UNARY, operand)


def choice(condition: Expression, yes: Expression, no: Expression) -> Expression:
    first = condition.text if condition.level in (ATOM, UNARY, COMPARISON) else f"({condition.text})"
    return joined(f"{first} ? {yes.within(CHOICE)} : {no.within(CHOICE)}", CHOICE, condition, yes, no)


def of_size(size: Size) -> Expression:
    return integer(size) if isinstance(size, int) else size


def product(sizes: Iterable[Size]) -> Size:
    return reduce(operator.mul, sizes, 1)


def quotient(left: Size, right: Size, *, is_natural: bool) -> Size:
    """Return the quotient, rounded down. C rounds towards 0, which is the same for nonnegative numbers."""
    if right == 0:
        return 0  # unreachable: an axis is empty
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    if not is_natural:
        left = binary("-", of_size(left), of_size(remainder(left, right, is_natural=False)))
    return binary("/", of_size(left), of_size(right))


def remainder(left: Size, right: Size, *, is_natural: bool) -> Size:
    """Return the remainder with the sign of the divisor."""
    if right == 0:
        return 0
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    first, second = of_size(left), of_size(right)
    found = binary("%", first, second)
    return found if is_natural else binary("%", binary("+", found, second), second)
