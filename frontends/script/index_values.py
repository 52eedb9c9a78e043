# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index arithmetic of tensor programs as sizes, and conditions as guards of relations."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from ...dialects.core.indices import is_never_negative
from ...dialects.core.relation import Guard
from ...dialects.core.symbols_expr import Size, SymbolError, extremum, substituted
from ...dialects.script.syntax import APPLIED, folded, text_of
from .names import TIR, Names

#: All of these guards hold.
Guards = tuple[Guard, ...]
#: Values of variables: an index, a condition, or None for a dynamic value.
Values = Mapping[str, Size | Guards | None]

_CASTS = ("Cast", "cast")
#: Conditions with more guards are dynamic.
_MOST_GUARDS = 16


class IndexReader:
    """Reader of indices and conditions over variables with known values."""

    def __init__(self, names: Names):
        self._names = names

    def size(self, node: ast.expr, at: Values) -> Size | None:
        """Return the value of an index, or None if it is dynamic or no index arithmetic."""
        try:
            return folded(node, self._names.operation, lambda leaf: self._leaf(leaf, at), _applied)  # type: ignore[misc]
        except SymbolError:
            return None

    def value(self, node: ast.expr, at: Values) -> Size | Guards | None:
        """Return the value of an index or a condition."""
        return self.guards(node, at) if (size := self.size(node, at)) is None else size

    def _leaf(self, node: ast.expr, at: Values) -> Size | None:
        if isinstance(node, ast.Name) and node.id in at:
            value = at[node.id]
            return None if isinstance(value, tuple) else value
        if (converted := self._converted(node)) is not None:
            return self.size(converted, at)
        if (choice := self._names.choice(node)) is not None:
            guards, (yes, no) = self.guards(choice[0], at), [self.size(part, at) for part in choice[1:]]
            return None if guards is None or yes is None or no is None else no + _indicator(guards) * (yes - no)
        known = self._names.found(node)
        return int(known) if isinstance(known, int) else None

    def _converted(self, node: ast.expr) -> ast.expr | None:
        """Return the integer in T.int64(x), T.Cast("int64", x) or T.likely(x)."""
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        kind, name = self._names.word(node)
        texts = list(map(text_of, node.args))
        is_integer = name in ("int32", "int64", "likely") or (name in _CASTS and {"int32", "int64"} & {*texts})
        return node.args[texts.index(None)] if kind == TIR and is_integer and texts.count(None) == 1 else None

    def guards(self, node: ast.expr, at: Values) -> Guards | None:
        """Return guards that all hold where a condition is true, or None if it is dynamic."""
        if isinstance(node, ast.Name) and isinstance(value := at.get(node.id), tuple):
            return value
        if (converted := self._converted(node)) is not None:
            return self.guards(converted, at)
        sign, operands = self._names.operation(node)
        if sign in ("and", "or", "not"):
            parts = [self.guards(operand, at) for operand in operands]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            joined: Guards = sum(known, ())
            return _shortened(joined) if sign == "and" else _either(known) if sign == "or" else negated(joined)
        if sign not in _COMPARED:
            sign, operands = "!=", (node, ast.Constant(0))
        left, right = (self.size(operand, at) for operand in (operands[0], operands[-1]))
        try:
            compare: Any = _COMPARED[sign]
            return None if left is None or right is None else _shortened(compare(left, right))
        except SymbolError:
            return None


def _indicator(guards: Guards) -> Size:
    """Return 1 where all guards hold, and 0 elsewhere."""
    holds = [extremum("max", [0, *(extremum("min", [1, expr + 1]) for expr in guard)]) for guard in guards]
    return extremum("min", [1, *holds])


def negated(guards: Guards | None) -> Guards | None:
    """Return guards that all hold where not all of these do."""
    return None if guards is None else _either([tuple((-expr - 1,) for expr in guard) for guard in guards])


def _either(several: Sequence[Guards]) -> Guards | None:
    """Return guards that all hold where all guards of one of several conditions do."""
    if prod(map(len, several)) > _MOST_GUARDS:
        return None
    return _shortened([tuple(expr for guard in clause for expr in guard) for clause in product(*several)])


def _shortened(guards: Sequence[Guard]) -> Guards:
    """Leave out guards that always hold, and expressions that are negative."""
    left: dict[Guard, None] = {}
    for guard in guards:
        if not any(map(is_never_negative, guard)):
            left[tuple(expr for expr in guard if not is_never_negative(-expr - 1)) or (-1,)] = None
    return tuple(left)


def at_first(value: Any, steps: Mapping[str, Size]) -> Any:
    """Return an index, a condition or None with values for some variables."""
    if isinstance(value, tuple):
        return _shortened([tuple(substituted(expr, steps) for expr in guard) for guard in value])
    return None if value is None else substituted(value, steps)


_COMPARED = {
    "<": lambda left, right: [(right - left - 1,)],
    "<=": lambda left, right: [(right - left,)],
    ">": lambda left, right: [(left - right - 1,)],
    ">=": lambda left, right: [(left - right,)],
    "==": lambda left, right: [(left - right,), (right - left,)],
    "!=": lambda left, right: [(left - right - 1, right - left - 1)],
}


def _applied(sign: str, parts: Sequence[Size]) -> Size | None:
    left, right = parts[0], parts[-1]
    if len(parts) == 1:
        return -left if sign == "-" else None
    if sign in ("min", "max"):
        return extremum(sign, parts)
    if sign in ("+", "-", "*"):
        return APPLIED[sign](left, right)
    if right == 0 or sign not in ("//", "%", "ceildiv", "truncdiv", "/", "truncmod"):
        return None
    if sign in ("//", "%"):
        return APPLIED[sign](left, right)
    if sign == "ceildiv":
        return -(-left // right)
    if not is_never_negative(right):
        return None
    # Rounds towards zero, unlike the other divisions.
    quotient = extremum("max", [left, 0]) // right - extremum("max", [-left, 0]) // right
    return left - quotient * right if sign == "truncmod" else quotient
