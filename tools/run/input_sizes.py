# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic sizes of a function's inputs, determined from the inputs that were passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...support.errors import OptionError
from ...support.suggest import counted

Size = int | str | None


class InputSizes:
    """Values of symbols, each with its source."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self._source_of: dict[str, str] = {}

    def bind(self, name: str, expected: Sequence[Size], shape: Sequence[int], by: str) -> None:
        """Match a shape with the signature's shape, and record the symbols in it. Raise RelaxError for a mismatch."""
        if len(shape) != len(expected):
            raise OptionError(
                f"input '{name}' has {counted(len(expected), 'dimension')}, {shape_text(expected)}, "
                f"but {by} has {len(shape)}: {shape_text(shape)}"
            )
        for axis, (wanted, size) in enumerate(zip(expected, shape, strict=True)):
            where = f"input '{name}' {shape_text(expected)}, dimension {axis}"
            if isinstance(wanted, int) and size != wanted:
                raise OptionError(f"{where}: expected {wanted}, but {by} has {size}: {shape_text(shape)}")
            if isinstance(wanted, str) and wanted.isidentifier():
                if self.values.setdefault(wanted, size) != size:
                    other = f"{self.values[wanted]} by {self._source_of[wanted]}"
                    raise OptionError(f"{where}: {wanted} is {size} by {by}, but {other}")
                self._source_of.setdefault(wanted, by)

    def shape(self, expected: Sequence[Size]) -> tuple[int, ...]:
        """Return the shape of an input that is not given. Undetermined sizes are 1."""
        return tuple(self._size(size) for size in expected)

    def _size(self, size: Size) -> int:
        if size is None:
            return 1
        if isinstance(size, int):
            return size
        for symbol in symbols_in(size):
            self.values.setdefault(symbol, 1)
        return evaluated(size, self.values)


def symbols_in(size: str) -> frozenset[str]:
    """Return the symbols of an expression. Raise SymbolError for invalid text."""
    from ...dialects.core.symbols import SymExpr, parse

    expression = parse(size)
    return frozenset(expression.variables) if isinstance(expression, SymExpr) else frozenset()


def evaluated(size: str, values: Mapping[str, int]) -> int:
    """Evaluate an expression with values for all its symbols. Negative sizes become 0."""
    from ...dialects.core.symbols import SymExpr, parse

    if not isinstance(expression := parse(size), SymExpr):
        return int(expression)
    return max(int(expression.evaluate({name: values[name] for name in expression.variables})), 0)


def shape_text(shape: Sequence[Size]) -> str:
    """Format a shape like (n, 4), as in signatures."""
    inside = ", ".join("?" if size is None else str(size) for size in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"
