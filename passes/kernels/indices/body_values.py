# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers and conditions that the body of a structured operation computes from its loop indices, with their ranges."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import last_of, made_by
from ....dialects.core.indices import is_never_negative
from ....dialects.core.symbols_expr import Size, SymbolError, extremum, terms_of
from ....dialects.core.symbols_terms import bounds

_ARITHMETIC: dict[str, Callable[[Size, Size], Size]] = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.minsi": lambda x, y: extremum("min", (x, y)),
    "arith.maxsi": lambda x, y: extremum("max", (x, y)),
}
_FLOOR_DIVISION = "arith.floordivsi"
#: Operations that round towards zero or ignore the sign: they floor for a dividend that is not negative.
_DIVISIONS: dict[str, Callable[[Size, Size], Size]] = {
    _FLOOR_DIVISION: lambda x, y: x // y,
    "arith.divsi": lambda x, y: x // y,
    "arith.divui": lambda x, y: x // y,
    "arith.remsi": lambda x, y: x % y,
    "arith.remui": lambda x, y: x % y,
}
_LOGIC: dict[str, Callable[[bool, bool], bool]] = {
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
}
#: Operand value that determines a logical operation.
_DECIDING = {"arith.andi": False, "arith.ori": True}
_CASTS = ("arith.index_cast", "arith.extsi", "arith.trunci")
_EQUAL, _NOT_EQUAL, _LESS, _FIRST_UNSIGNED = 0, 1, 2, 6
#: Relations by the predicates of arith.cmpi: slt, sle, sgt, sge, ult, ule, ugt, uge.
_RELATIONS = ("<", "<=", ">", ">=") * 2

Known = Size | bool | None


class BodyValues:
    """Values in the body of a structured operation, for given values of the loop indices."""

    def __init__(self, indices: Sequence[Size]):
        self._indices = indices
        self._known: dict[Value, Known] = {}

    def size(self, value: Value) -> Size | None:
        """Return an integer as an expression of loop indices, or None if it is unknown or may overflow."""
        found = self._value(value)
        return None if isinstance(found, bool) else found

    def truth(self, value: Value) -> bool | None:
        """Return a condition that is the same at all points, or None for others."""
        found = self._value(value)
        return found if isinstance(found, bool) else None

    def result(self, value: Value) -> Value:
        """Return the value that decided choices select for a value."""
        while (choice := made_by(value, "arith.select", "scf.if")) is not None:
            if (condition := self.truth(choice.operands[0])) is None:
                return value
            if choice.name == "arith.select":
                value = choice.operands[1 if condition else 2]
            else:
                number = next(place for place, each in enumerate(choice.results) if each == value)
                value = last_of(choice.regions[0 if condition else 1].blocks[0]).operands[number]
        return value

    def _value(self, value: Value) -> Known:
        if value not in self._known:
            # A body is a tree of scalars without cycles.
            self._known[value] = _fitting(self._compute(value), value)
        return self._known[value]

    def _compute(self, value: Value) -> Known:
        op = made_by(value)
        if op is None or not isinstance(value.type, (ir.IndexType, ir.IntegerType)):
            return None
        if op.name == "arith.constant":
            return _constant(op)
        if op.name == "linalg.index":
            return self._indices[op.attributes["dim"].value]
        if op.name == "arith.cmpi":
            return self._compare(op)
        if op.name in ("arith.select", "scf.if"):
            chosen = self.result(value)
            return self._match_remainder(op) if chosen == value else self._value(chosen)
        if _is_truth(value):
            return self._logic(op)
        if op.name in _CASTS:
            return self.size(op.operands[0])
        return self._arithmetic(op)

    def _match_remainder(self, choice: Operation) -> Size | None:
        """Return x % n for a select that corrects a remainder, or None.

        The select is `r + n if r != 0 and r < 0 else r` with the remainder r of a division towards zero.
        """
        if choice.name != "arith.select":
            return None
        condition, raised, kept = choice.operands
        kept = self.result(kept)
        rest, total = made_by(kept, "arith.remsi"), made_by(self.result(raised), "arith.addi")
        if rest is None or total is None:
            return None
        whole, by = map(self.size, rest.operands)
        is_raised = self.result(total.operands[0]) == kept and self.size(total.operands[1]) == by
        if whole is None or not isinstance(by, int) or by <= 0 or not is_raised:
            return None
        return whole % by if self._is_negative(condition, kept) else None

    def _is_negative(self, condition: Value, rest: Value) -> bool:
        """Check whether a condition holds only for a remainder below 0.

        It may also state that the remainder is not 0.
        """
        if (op := made_by(condition)) is None or len(op.operands) != 2:
            return False
        left, right = op.operands
        if op.name == "arith.cmpi":
            predicate = op.attributes["predicate"].value
            return predicate == _LESS and self.result(left) == rest and self.size(right) == 0
        if op.name == "arith.xori" and self.truth(right) is False:
            return self._is_negative(left, rest)
        return op.name == "arith.andi" and self._is_not_zero(left, rest) and self._is_negative(right, rest)

    def _is_not_zero(self, condition: Value, rest: Value) -> bool:
        op = made_by(condition, "arith.cmpi")
        if op is None or op.attributes["predicate"].value != _NOT_EQUAL:
            return False
        return self.result(op.operands[0]) == rest and self.size(op.operands[1]) == 0

    def _logic(self, op: Operation) -> bool | None:
        if op.name not in _LOGIC:
            return None
        left, right = map(self.truth, op.operands)
        if op.name in _DECIDING and _DECIDING[op.name] in (left, right):
            return _DECIDING[op.name]
        return None if left is None or right is None else _LOGIC[op.name](left, right)

    def _arithmetic(self, op: Operation) -> Size | None:
        if op.name not in _ARITHMETIC and op.name not in _DIVISIONS:
            return None
        left, right = map(self.size, op.operands)
        if left is None or right is None:
            return None
        try:
            if op.name in _ARITHMETIC:
                return _ARITHMETIC[op.name](left, right)
            floors = op.name == _FLOOR_DIVISION or is_never_negative(left)
            return _DIVISIONS[op.name](left, right) if floors and isinstance(right, int) and right > 0 else None
        except SymbolError:
            return None

    def _compare(self, op: Operation) -> bool | None:
        left, right = map(self.size, op.operands)
        if left is None or right is None:
            return None
        predicate = op.attributes["predicate"].value
        if predicate >= _FIRST_UNSIGNED and not (is_never_negative(left) and is_never_negative(right)):
            return None
        try:
            low, high = bounds(terms_of(left - right))
        except SymbolError:
            return None
        return _decide(predicate, low, high)


def _constant(op: Operation) -> Known:
    if not isinstance(value := op.attributes["value"], (ir.IntegerAttr, ir.BoolAttr)):
        return None
    return bool(value.value) if _is_truth(op.results[0]) else int(value.value)


def _is_truth(value: Value) -> bool:
    return isinstance(value.type, ir.IntegerType) and value.type.width == 1


def _fitting(found: Known, value: Value) -> Known:
    """Return the value unless it may not fit in its type."""
    if found is None or isinstance(found, bool):
        return found
    low, high = bounds(terms_of(found))
    most = 1 << ((64 if isinstance(value.type, ir.IndexType) else value.type.width) - 1)
    return found if low is not None and high is not None and -most <= low and high < most else None


def _decide(predicate: int, low: int | None, high: int | None) -> bool | None:
    """Return the outcome of a comparison for a difference between two bounds, or None if it is uncertain."""
    if predicate in (_EQUAL, _NOT_EQUAL):
        is_apart = (low is not None and low > 0) or (high is not None and high < 0)
        is_same = low == high == 0
        return None if not (is_apart or is_same) else is_same == (predicate == _EQUAL)
    if (relation := _RELATIONS[predicate - 2]) in ("<", ">="):
        holds, fails = high is not None and high < 0, low is not None and low >= 0
    else:
        holds, fails = high is not None and high <= 0, low is not None and low > 0
    if not holds and not fails:
        return None
    return holds == (relation in ("<", "<="))
