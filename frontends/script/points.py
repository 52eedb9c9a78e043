# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of integer expressions of tensor programs at many points of their loops at once."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...dialects.script.syntax import folded, text_of
from .names import TIR, Names

if TYPE_CHECKING:
    import numpy

Array: TypeAlias = "numpy.ndarray"
#: A number, or an array with one number per point.
Numbers: TypeAlias = "int | numpy.ndarray"

#: NumPy functions of two operands by sign, for signs with the same rounding.
_FUNCTIONS = {
    "+": "add", "-": "subtract", "*": "multiply", "//": "floor_divide", "%": "mod", "min": "minimum", "max": "maximum",
    "truncmod": "fmod", "truncdiv": "", "/": "", "ceildiv": "", "<": "less", "<=": "less_equal", ">": "greater",
    ">=": "greater_equal", "==": "equal", "!=": "not_equal",
}  # fmt: skip
_DIVISIONS = frozenset({"/", "//", "%", "truncdiv", "truncmod", "ceildiv"})
_CASTS = ("Cast", "cast")


class Unknown(Exception):
    """Raised for a dynamic value."""


def worked_out(names: Names, node: ast.expr, at: Mapping[str, Numbers]) -> Numbers:
    """Return the value of an expression. Variables are numbers, or arrays with one number per point. Raises Unknown."""
    try:
        found = folded(node, names.operation, lambda each: _leaf(names, each, at), _computed)
    except (TypeError, ArithmeticError):  # arithmetic of truth values, numbers of more than 64 bits
        raise Unknown from None
    assert found is not None, "what has no value raises"
    return found


def _leaf(names: Names, node: ast.expr, at: Mapping[str, Numbers]) -> Any:
    if isinstance(node, ast.Name) and node.id in at:
        return at[node.id]
    if (choice := names.choice(node)) is not None:
        import numpy

        return numpy.where(*(worked_out(names, each, at) for each in choice))
    if isinstance(node, ast.Call) and not node.keywords:
        return worked_out(names, _converted(names, node), at)
    if not isinstance(value := names.found(node), int):
        raise Unknown
    return value


def _converted(names: Names, node: ast.Call) -> ast.expr:
    """Return the integer in T.int64(x), T.Cast("int64", x) or T.likely(x)."""
    kind, name = names.word(node)
    texts = list(map(text_of, node.args))
    if kind != TIR or name not in (*_CASTS, "int32", "int64", "likely") or texts.count(None) != 1:
        raise Unknown
    if name in _CASTS and not {"int32", "int64"}.intersection(texts):
        raise Unknown
    return node.args[texts.index(None)]


def _computed(sign: str, values: Sequence[Any]) -> Any:
    import numpy

    if sign in ("and", "or"):
        return (numpy.logical_and if sign == "and" else numpy.logical_or).reduce(numpy.broadcast_arrays(*values))
    if len(values) == 1 and sign in ("-", "not"):
        return -values[0] if sign == "-" else numpy.equal(values[0], 0)
    if len(values) != 2 or sign not in _FUNCTIONS:
        raise Unknown
    left, right = values
    if sign in _DIVISIONS and (numpy.asarray(right) == 0).any():
        raise Unknown  # a division by 0
    if sign in ("truncdiv", "/"):  # integer division rounds towards zero
        return (left - numpy.fmod(left, right)) // right
    return -(-left // right) if sign == "ceildiv" else getattr(numpy, _FUNCTIONS[sign])(left, right)
