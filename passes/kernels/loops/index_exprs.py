# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices and their limits in block bodies, as symbolic sizes that passes can reason about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....bindings.mlir import ir
from ....dialects.core.indices import is_never_negative
from ....dialects.core.symbols_expr import Size, substituted, variables_of
from .body_scalars import Compute, ConditionalScalar, Expr, IterIndex, Load

_ARITHMETIC: dict[str, Callable[[Size, Size], Size]] = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.floordivsi": lambda x, y: x // y,
}
#: Divisions and remainders that agree with Python's for a non-negative dividend.
_DIVISIONS: dict[str, Callable[[Size, Size], Size]] = {
    "arith.divui": lambda x, y: x // y,
    "arith.divsi": lambda x, y: x // y,
    "arith.remui": lambda x, y: x % y,
    "arith.remsi": lambda x, y: x % y,
}
_EQ, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE = 0, 2, 3, 4, 5, 6, 7


def size_of(expr: Expr) -> Size | None:
    """Return an expression that is arithmetic of iters as a size, or None for other expressions."""
    if isinstance(expr, IterIndex):
        return expr.value
    if not isinstance(expr, Compute):
        return None
    if expr.name == "arith.constant":
        value = dict(expr.attributes)["value"]
        return int(value.value) if isinstance(value, ir.IntegerAttr) else None
    if expr.name == "arith.index_cast":
        return size_of(expr.operands[0])
    sizes = [size for operand in expr.operands if (size := size_of(operand)) is not None]
    if len(sizes) != 2 or len(expr.operands) != 2:
        return None
    if expr.name in _DIVISIONS and isinstance(sizes[1], int) and sizes[1] > 0 and is_never_negative(sizes[0]):
        return _DIVISIONS[expr.name](*sizes)
    return _ARITHMETIC[expr.name](*sizes) if expr.name in _ARITHMETIC else None


def places_of_load(load: Load) -> list[Size | None]:
    """Return the indices of a load; None for each index that depends on more than iters."""
    return [size_of(index) for index in load.indices]


def indices_at(indices: Sequence[Size], values: Mapping[str, Expr]) -> list[Expr] | None:
    """Substitute computed values for the variables of indices, or return None if an index has no such expression."""
    exprs: list[Expr] = []
    for index in indices:
        used = variables_of(index) & values.keys()
        sizes = {name: size for name in used if (size := size_of(values[name])) is not None}
        if str(index) in values:
            exprs.append(values[str(index)])
        elif len(sizes) == len(used):
            exprs.append(IterIndex(substituted(index, sizes)))
        else:
            return None
    return exprs


def limits_of(condition: Expr) -> list[Size] | None:
    """Return sizes that are all non-negative exactly if a condition is true, or None for other conditions."""
    if not isinstance(condition, Compute):
        return None
    if condition.name == "arith.andi":
        both = [limits_of(operand) for operand in condition.operands]
        return None if None in both else [limit for each in both if each is not None for limit in each]
    if condition.name != "arith.cmpi":
        return None
    left, right = map(size_of, condition.operands)
    if left is None or right is None:
        return None
    if (predicate := int(dict(condition.attributes)["predicate"].value)) in (_ULT, _ULE):
        return [left, right - left - (predicate == _ULT)] if is_never_negative(right) else None
    known = {_EQ: [left - right, right - left], _SLT: [right - left - 1], _SLE: [right - left],
             _SGT: [left - right - 1], _SGE: [left - right]}  # fmt: skip
    return known.get(predicate)


def choice_of(expr: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Return (condition, value if true, value if false) of a conditional expression, or None."""
    if isinstance(expr, ConditionalScalar) or (isinstance(expr, Compute) and expr.name == "arith.select"):
        condition, yes, no = expr.parts()
        return condition, yes, no
    return None
