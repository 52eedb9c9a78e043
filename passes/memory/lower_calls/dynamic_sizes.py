# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic sizes: index values for symbols, arithmetic for expressions over them."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence

from ....bindings.ir import Type, Value
from ....bindings.navigation import defining_op
from ....dialects.core.symbols import Dim, SymExpr
from ....dialects.core.symbols_expr import terms_of, value_of
from ....dialects.core.symbols_terms import Atom
from ....dialects.tir import dialect as tir
from ....emit.memrefs import MOST_BYTES, as_float, byte_count, require_below
from ....emit.numbers import (
    Number,
    Size,
    as_i64,
    as_index,
    constant,
    floor_divide,
    floor_remainder,
    maximum,
    minimum,
    select,
)
from ....support.errors import RefusalError


class Sizes:
    """Known sizes at a point of a function.

    A region has a nested instance, whose sizes are unknown after the region.
    """

    def __init__(self, function: str = "") -> None:
        #: Function name, for messages that cannot give the location.
        self._function = function
        self._values: dict[str, Number] = {}
        #: Index values that are known to be nonnegative.
        self._natural: set[Value] = set()
        #: Bytes per element that are known to fit for a product of sizes, as a fraction of the allocation limit.
        self._room: dict[frozenset[tuple[Value, int]], float] = {}

    def nested(self) -> Sizes:
        inside = Sizes()
        inside._values, inside._natural, inside._room = dict(self._values), set(self._natural), dict(self._room)
        return inside

    def define(self, size: SymExpr, value: int | Value) -> None:
        self._values.setdefault(str(size), as_index(value))

    def knows(self, size: Dim) -> bool:
        if not isinstance(size, SymExpr):
            return size is not None
        return str(size) in self._values or all(name in self._values for name in size.variables)

    def names(self) -> frozenset[str]:
        return frozenset(self._values)

    def compute(self, size: int | SymExpr) -> Size:
        """Return a number, or compute an index value here. Raise RelaxError if a symbol has no value."""
        if isinstance(size, int):
            return size
        if (text := str(size)) not in self._values:
            if missing := sorted(name for name in size.variables if name not in self._values):
                where = f"function '{self._function}': " if self._function else ""
                raise RefusalError(
                    f"{where}nothing defines '{missing[0]}' in the size '{size}'",
                    notes=["a symbol is defined where it is a size of an input, or by relax.match_cast"],
                )
            self._require_fit(size)
            self._values[text] = as_index(self._sum(size))
        return self._values[text]

    def place(self, size: int | SymExpr) -> Size:
        """Compute a size that is bounded by a size known to fit. Intermediate sums and products may wrap around."""
        is_sum = all(atom.kind == "variable" for term in terms_of(size) for atom in term)
        return self._sum(size) if is_sum and str(size) not in self._values else self.compute(size)

    def _require_fit(self, size: SymExpr) -> None:
        """Emit a run-time check against wrap-around: the absolute values of all terms are summed as f64."""
        terms = terms_of(size)
        if list(terms.values()) == [1] and len(next(iter(terms))) == 1:
            return
        total = constant(0.0, "f64")
        for monomial, coefficient in terms.items():
            term = constant(float(abs(coefficient)), "f64")
            for atom in monomial:
                number = as_float(self._atom(atom, size))
                term = term * maximum(number, -number)
            total = total + term
        self._require_below(total, size)

    def _require_below(self, total: Number, size: SymExpr) -> None:
        require_below(total, MOST_BYTES, "ValueError", f"the size {size} does not fit in 64 bits: {{}}")

    def _divisor(self, value: Number, size: int | SymExpr) -> Number:
        """Return the divisor of a size. Division by 0 yields 0."""
        return value

    def require_each_natural(self, extents: Sequence[Value]) -> None:
        """Emit a check that all sizes are nonnegative. The error names the first negative dimension."""
        unproven = [(axis, extent) for axis, extent in enumerate(extents) if not self._is_natural(extent)]
        if not unproven:
            return
        axes = [constant(axis, "i64") for axis, _ in unproven]
        which, size = axes[-1], unproven[-1][1]
        for axis, (_, extent) in reversed(list(zip(axes[:-1], unproven[:-1], strict=True))):
            is_negative = as_index(extent) < 0
            which, size = select(is_negative, axis, which), select(is_negative, extent, size)
        self._require_positive(size, "the size of dimension {} is negative: {}", which)
        self._natural.update(extent for _, extent in unproven)

    def _is_natural(self, extent: Value) -> bool:
        return extent in self._natural or defining_op(extent, "memref.dim") is not None

    def _require_positive(self, size: Value, message: str, *shown: Value) -> None:
        tir.ops["assert"](as_index(size) >= 0, [*shown, as_i64(size)], kind="ValueError", message=message)

    def require_room(self, extents: Sequence[Size], element: Type, shape: str, most: int = MOST_BYTES) -> None:
        """Emit a check that sizes are nonnegative and their bytes are below the allocation limit."""
        bytes_ = byte_count(extents, element)
        dynamic = [extent.value for extent in extents if not isinstance(extent, int)]
        if unproven := [extent for extent in dynamic if not self._is_natural(extent)]:
            lowest = functools.reduce(minimum, map(as_index, unproven))
            self._require_positive(lowest, f"a size of the shape ({shape}) is negative: {{}}")
            self._natural.update(unproven)
        key = frozenset(Counter(dynamic).items())
        if not dynamic or bytes_ / most <= self._room.get(key, 0.0):
            return
        self._room[key] = bytes_ / most
        total = math.prod(map(as_float, dynamic), start=constant(float(bytes_), "f64"))
        require_below(total, most, "MemoryError", f"a tensor of the shape ({shape}) needs {{}} bytes or more")

    def _sum(self, size: int | SymExpr) -> Size:
        return value_of(size, lambda atom: self._atom(atom, size))

    def _atom(self, atom: Atom, size: int | SymExpr) -> Number:
        if atom.kind == "variable":
            return self._values[str(atom)]
        values = [as_index(self._sum(arg)) for arg in atom.args]
        if atom.kind in ("min", "max"):
            return functools.reduce(minimum if atom.kind == "min" else maximum, values)
        divide = floor_remainder if atom.kind == "%" else floor_divide
        return divide(values[0], self._divisor(values[1], size))


def round_up(size: Size, multiple: int) -> Size:
    """Round a size up to a multiple of a power of two."""
    return (size + (multiple - 1)) & -multiple
