# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes at run time: symbolic expressions as code over i64, with every overflow and bad divisor noticed."""

from __future__ import annotations

from ...dialects.core.symbols import SymExpr
from ...dialects.core.symbols_expr import terms_of
from ...support.errors import RelaxError
from .llvm_text import FunctionText
from .packed_fail import fail, plain


class Sizes:
    """The sizes that are known at a point of a function: a value for each symbol and expression seen."""

    def __init__(self, code: FunctionText, function: str) -> None:
        self._code = code
        self._function = function
        self._values: dict[str, str] = {}
        self._origins: dict[str, str] = {}

    def knows(self, size: SymExpr) -> bool:
        """Whether the size can be computed."""
        return str(size) in self._values or all(name in self._values for name in size.variables)

    def define(self, size: SymExpr, value: str, origin: str) -> None:
        """From now on this expression has this value, which came from the place `origin`."""
        self._values[str(size)] = value
        self._origins[str(size)] = origin

    def origin(self, size: SymExpr) -> str:
        """Where the size was defined, for messages; empty for what was computed."""
        return self._origins.get(str(size), "")

    def compute(self, size: int | SymExpr) -> str:
        """The value of a size. Raises RelaxError where a symbol in it has none."""
        if isinstance(size, int):
            return self._code.constant(size)
        if str(size) not in self._values:
            missing = sorted(name for name in size.variables if name not in self._values)
            if missing:
                raise RelaxError(
                    f"function '{self._function}': nothing defines '{missing[0]}' in the size '{size}'",
                    notes=["a symbol is defined where it stands alone as a size of an input"],
                )
            self._values[str(size)] = self._sum(size)
        return self._values[str(size)]

    def _sum(self, size: int | SymExpr) -> str:
        if isinstance(size, int):
            return self._code.constant(size)
        total = ""
        for monomial, coefficient in terms_of(size).items():
            value = "" if monomial and coefficient == 1 else self._code.constant(coefficient)
            for atom in monomial:
                factor = self._atom(atom, size)
                value = self._checked("smul", value, factor, size) if value else factor
            total = self._checked("sadd", total, value, size) if total else value
        return total

    def _atom(self, atom: object, size: SymExpr) -> str:
        kind, args = atom.kind, atom.args  # type: ignore[attr-defined]
        if kind == "variable":
            return self._values[str(atom)]
        values = [self._sum(arg) for arg in args]
        if kind in ("min", "max"):
            result = values[0]
            for value in values[1:]:
                result = self._code.value(f"llvm.intr.s{kind}({result}, {value}) : (i64, i64) -> i64")
            return result
        return self._divide(kind, values[0], values[1], size)

    def _divide(self, kind: str, left: str, right: str, size: SymExpr) -> str:
        """Division that floors, for divisors above zero; others are refused."""
        code, zero = self._code, self._code.constant(0)
        text = f"{plain(self._function)}: the size '{plain(str(size))}' divides by a number that is not positive: %lld"
        code.require(code.compare("sgt", right, zero), fail(code, "value", text, right))
        rest = code.value(f"llvm.srem {left}, {right} : i64")
        below = code.compare("slt", rest, zero)
        if kind == "%":
            return code.value(f"llvm.add {rest}, {self._select(below, right)} : i64")
        quotient = code.value(f"llvm.sdiv {left}, {right} : i64")
        return code.value(f"llvm.sub {quotient}, {self._select(below, code.constant(1))} : i64")

    def _select(self, condition: str, value: str) -> str:
        return self._code.value(f"llvm.select {condition}, {value}, {self._code.constant(0)} : i1, i64")

    def _checked(self, operation: str, left: str, right: str, size: SymExpr) -> str:
        code = self._code
        value, overflow = code.checked(operation, left, right)
        fits = code.value(f"llvm.xor {overflow}, {code.constant(1, 'i1')} : i1")
        text = f"{plain(self._function)}: the size '{plain(str(size))}' does not fit in 64 bits"
        code.require(fits, fail(code, "value", text))
        return value
