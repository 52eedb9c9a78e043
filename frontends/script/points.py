# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer expressions of tensor programs, worked out at many points of their loops at once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from .names import TIR, Names
from .scalar_types import ARITHMETIC_WORDS, BINARY, COMPARISON_WORDS, COMPARISONS


class Unknown(Exception):
    """What only the run tells."""


def worked_out(names: Names, node: ast.expr, at: Mapping[str, Any]) -> Any:
    """An expression of variables, each a number or an array of one number a point. Raises Unknown."""
    try:
        return _worked_out(names, node, at)
    except (TypeError, ArithmeticError):  # arithmetic of truth values, numbers of more than 64 bits
        raise Unknown from None


def _worked_out(names: Names, node: ast.expr, at: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name) and node.id in at:
        return at[node.id]
    if isinstance(node, ast.BinOp):
        return _computed(BINARY.get(type(node.op), ""), *(worked_out(names, e, at) for e in (node.left, node.right)))
    if isinstance(node, ast.UnaryOp):
        return _of_one(node.op, worked_out(names, node.operand, at))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = (worked_out(names, each, at) for each in (node.left, node.comparators[0]))
        return _compared(COMPARISONS.get(type(node.ops[0]), ""), left, right)
    if isinstance(node, ast.BoolOp):
        return _joined(isinstance(node.op, ast.And), [worked_out(names, each, at) for each in node.values])
    if isinstance(node, ast.Call) and not node.keywords:
        return _called(names, node, at)
    value = names.found(node)
    if not isinstance(value, int):
        raise Unknown
    return value


def _called(names: Names, node: ast.Call, at: Mapping[str, Any]) -> Any:
    """A call of T: arithmetic by words, T.int64(x), T.Cast("int64", x)."""
    word = names.word(node.func)
    if word is None or word[0] != TIR:
        raise Unknown
    name = word[1]
    if name in ("Cast", "cast", "int32", "int64", "likely"):
        values = [each for each in node.args if not (isinstance(each, ast.Constant) and isinstance(each.value, str))]
        if len(values) != 1 or (name in ("Cast", "cast") and not _is_wide(node)):
            raise Unknown
        return worked_out(names, values[0], at)
    if name in ("And", "Or", "all", "any"):
        return _joined(name in ("And", "all"), [worked_out(names, each, at) for each in node.args])
    if name in COMPARISON_WORDS and len(node.args) == 2:
        return _compared(COMPARISON_WORDS[name], *(worked_out(names, each, at) for each in node.args))
    if name == "Not" and len(node.args) == 1:
        return _of_one(ast.Not(), worked_out(names, node.args[0], at))
    if len(node.args) != 2:
        raise Unknown
    return _computed(ARITHMETIC_WORDS.get(name, name), *(worked_out(names, each, at) for each in node.args))


def _is_wide(node: ast.Call) -> bool:
    return any(isinstance(each, ast.Constant) and each.value in ("int32", "int64") for each in node.args)


def _of_one(sign: ast.unaryop, value: Any) -> Any:
    import numpy

    if isinstance(sign, ast.USub):
        return -value
    if isinstance(sign, ast.Not):
        return numpy.equal(value, 0)
    raise Unknown


def _computed(name: str, left: Any, right: Any) -> Any:
    import numpy

    if name in ("FloorDiv", "FloorMod", "truncdiv", "truncmod", "ceildiv") and (numpy.asarray(right) == 0).any():
        raise Unknown  # a division by 0
    known: dict[str, Callable[[Any, Any], Any]] = {
        "Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply, "FloorDiv": numpy.floor_divide,
        "FloorMod": numpy.mod, "min": numpy.minimum, "max": numpy.maximum, "truncmod": numpy.fmod,
        "truncdiv": lambda x, y: (x - numpy.fmod(x, y)) // y, "ceildiv": lambda x, y: -(-x // y),
    }  # fmt: skip
    if name not in known:
        raise Unknown
    return known[name](left, right)


def _compared(sign: str, left: Any, right: Any) -> Any:
    import numpy

    compare = {"<": numpy.less, "<=": numpy.less_equal, ">": numpy.greater, ">=": numpy.greater_equal,
               "==": numpy.equal, "!=": numpy.not_equal}.get(sign)  # fmt: skip
    if compare is None:
        raise Unknown
    return compare(left, right)


def _joined(is_and: bool, values: list[Any]) -> Any:
    import numpy

    return (numpy.logical_and if is_and else numpy.logical_or).reduce(numpy.broadcast_arrays(*values))
