# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over matrices, for kernels of dense linear algebra. Rows are contiguous, so inner loops run along rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..bindings.ir import Value
from ..bindings.mlir import ir
from . import loops
from .extern_calls import address_of
from .linalg import indices_at, product
from .linalg import sizes as extents_of
from .numbers import Number, Size, as_index, constant, intrinsic, operation

Place = Number | int


class Matrix:
    """One matrix or vector of a batch in memory. `a[i, j]` is an element."""

    def __init__(self, memory: Value, *outer: Place):
        self._memory, self._outer = memory, outer
        self.sizes: list[Size] = list(extents_of(memory))[len(outer) :]
        self.element = memory.type.element_type

    @property
    def rows(self) -> Size:
        return self.sizes[0]

    @property
    def columns(self) -> Size:
        return self.sizes[1]

    def __getitem__(self, places: Place | Sequence[Place]) -> Any:
        return loops.load(self._memory, *self._outer, *_several(places))

    def __setitem__(self, places: Place | Sequence[Place], value: Any) -> None:
        loops.store(value, self._memory, *self._outer, *_several(places))

    def row(self, place: Place) -> Matrix:
        """Return a row as a vector."""
        return Matrix(self._memory, *self._outer, place)

    def real(self, value: float) -> Number:
        """Return a constant of the element type."""
        return constant(value, self.element)

    @property
    def epsilon(self) -> float:
        """Return the distance from 1 to the next larger number."""
        return 2.0**-23 if str(self.element) == "f32" else 2.0**-52

    @property
    def address(self) -> Value:
        """Return the address of the first element, for C functions. Without elements it is 0."""
        if 0 in self._memory.type.shape:
            return constant(0, "i64")
        return address_of(loops.part(self._memory, *self._outer) if self._outer else self._memory)

    def fill(self, value: Callable[..., Number | float]) -> None:
        def each(*places: Number) -> None:
            self[places] = value(*places)

        loops.nest(self.sizes, each)

    def copy(self, other: Matrix) -> None:
        self.fill(lambda *places: other[places])

    def add_row(self, target: Place, factor: Number, source: Matrix, row: Place, start: Place = 0) -> None:
        """Add `factor * source[row, j]` to `self[target, j]` for the columns from `start` on."""

        def each(j: Number) -> None:
            self[target, j] = self[target, j] + factor * source[row, j]

        loops.for_range(start, self.columns, each)

    def exchange(self, one: tuple[Place, ...], other: tuple[Place, ...]) -> None:
        """Exchange two elements."""
        kept = self[one]
        self[one] = self[other]
        self[other] = kept

    def swap_rows(self, one: Place, other: Place) -> None:
        loops.for_range(0, self.columns, lambda j: self.exchange((one, j), (other, j)))

    def scratch(self, extents: Sequence[Size], use: Callable[[Matrix], object]) -> None:
        """Call `use(matrix)` with scratch memory of the same element type."""
        loops.scratch(extents, self.element, lambda memory: use(Matrix(memory)))


def _several(places: Place | Sequence[Place]) -> Sequence[Place]:
    return places if isinstance(places, (tuple, list)) else (places,)


def for_each_matrix(buffers: Sequence[Value], body: Callable[..., object], batch: int = 1) -> None:
    """Run `body(*matrices)` for each index of the first `batch` dimensions."""
    extents = extents_of(buffers[0])[:batch]

    def run(place: Number) -> None:
        indices = indices_at(place, extents)
        body(*(Matrix(buffer, *indices) for buffer in buffers))

    loops.for_range(0, product(extents), run, grain=1)


def steps(start: Place, stop: Place, body: Callable[..., Any], *carried: Any, backwards: bool = False) -> list[Any]:
    """Run `body(i, *carried)` from start to before stop, or in the reverse order."""
    if not backwards:
        return loops.for_range(start, stop, body, *carried)
    last = as_index(stop) - 1 + start
    return loops.for_range(start, stop, lambda i, *values: body(last - i, *values), *carried)


def folded(start: Place, stop: Place, value: Callable[[Number, Number], Number], first: Number) -> Number:
    """Fold `result = value(i, result)` over each i."""
    found: Number = loops.for_range(start, stop, value, first)[0]
    return found


def total(start: Place, stop: Place, value: Callable[[Number], Number], zero: Number) -> Number:
    """Return a sum in any order, which allows vectorization."""
    fast = ir.Attribute.parse("#arith.fastmath<reassoc,contract>")
    add = lambda i, sum_: operation("arith.addf", [sum_, value(i)], zero.type, fastmath=fast)  # noqa: E731
    return folded(start, stop, add, zero)


def root(x: Number) -> Number:
    return intrinsic("sqrt", x)


def absolute(x: Number) -> Number:
    return intrinsic("fabs", x)


def with_sign_of(size: Number, sign: Number) -> Number:
    return intrinsic("copysign", size, sign)
