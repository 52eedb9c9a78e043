# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over matrices, for kernels of dense linear algebra. Rows are contiguous, so inner loops run along rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....bindings.mlir import ir
from ....dialects import relax
from ....dialects.core.infos import TensorInfo
from ....emit import loops
from ....emit.linalg import sizes as extents_of
from ....emit.numbers import Number, Size, as_index, constant, intrinsic, larger, minimum, operation, select
from .. import sizes
from ..node import Node
from ..values import Tensor, Value

Place = Number | int


@dataclass(frozen=True)
class Complex:
    real: Number
    imag: Number

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.real + other.real, self.imag + other.imag)

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    def __sub__(self, other: Complex) -> Complex:
        return self + -other

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def scaled(self, factor: Number) -> Complex:
        return Complex(self.real * factor, self.imag * factor)

    def __truediv__(self, other: Complex) -> Complex:
        """Divide by the ratio of the divisor's parts, so that no square overflows."""
        is_real = absolute(other.real) >= absolute(other.imag)
        large, small = select(is_real, other.real, other.imag), select(is_real, other.imag, other.real)
        ratio = small / large
        whole = large + small * ratio
        first, second = select(is_real, self.real, self.imag), select(is_real, self.imag, self.real)
        apart = (second - first * ratio) / whole
        return Complex((first + second * ratio) / whole, select(is_real, apart, -apart))


class Matrix:
    """One matrix or vector of a batch in memory. `a[i, j]` is an element."""

    def __init__(self, memory: Tensor, *outer: Place):
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


class ComplexMatrix(Matrix):
    """Complex matrix or vector, as two matrices."""

    def __init__(self, *parts: Matrix):
        self._parts, self.sizes, self.element = parts, parts[0].sizes, parts[0].element

    def __getitem__(self, places: Place | Sequence[Place]) -> Complex:
        return Complex(*(part[places] for part in self._parts))

    def __setitem__(self, places: Place | Sequence[Place], value: Complex | Number) -> None:
        real, imag = self._parts
        real[places], imag[places] = (value.real, value.imag) if isinstance(value, Complex) else (value, 0.0)

    def row(self, place: Place) -> Matrix:
        return ComplexMatrix(*(part.row(place) for part in self._parts))

    def scratch(self, extents: Sequence[Size], use: Callable[[Matrix], object]) -> None:
        part = super().scratch
        part(extents, lambda real: part(extents, lambda imag: use(ComplexMatrix(real, imag))))


def _several(places: Place | Sequence[Place]) -> Sequence[Place]:
    return places if isinstance(places, (tuple, list)) else (places,)


def each_matrix(buffers: Sequence[Tensor], body: Callable[..., object], are_complex: bool = False) -> None:
    """Run `body(*matrices)` for each position in the batch. A complex matrix has two buffers."""

    def one(place: Number) -> None:
        matrices = [Matrix(buffer, place) for buffer in buffers]
        body(*map(ComplexMatrix, matrices[::2], matrices[1::2]) if are_complex else matrices)

    loops.for_range(0, loops.size(buffers[0], 0), one, grain=1)


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


def largest(a: Matrix) -> Number:
    """Return the largest absolute value. Squares of elements divided by it do not overflow.

    Return 1 if the largest value is 0 or not finite.
    """
    row = lambda i, best: folded(0, a.columns, lambda j, most: larger(absolute(a[i, j]), most), best)  # noqa: E731
    found = folded(0, a.rows, row, a.real(0.0))
    return select((found > 0.0) & (found < float("inf")), found, a.real(1.0))


def root(x: Number) -> Number:
    return intrinsic("sqrt", x)


def absolute(x: Number | Complex) -> Number:
    return intrinsic("hypot", x.real, x.imag) if isinstance(x, Complex) else intrinsic("fabs", x)


def with_sign_of(size: Number, sign: Number) -> Number:
    return intrinsic("copysign", size, sign)


def fewer(one: Size, other: Size) -> Size:
    return minimum(one, other)


# ---- batches in the graph ----


class Batch:
    """Batch dimensions of tensors of matrices. Kernels take the batch as one dimension."""

    def __init__(self, node: Node, lead: Sequence[sizes.Size]):
        self._node = node
        self.lead = list(lead)
        self.count = sizes.product(self.lead)

    @staticmethod
    def of(node: Node, tensor: Tensor, rank: int = 2) -> Batch:
        """Return the batch of a tensor: its dimensions in front of the last `rank`."""
        own = sizes.sizes_of(Value(ssa=tensor))
        return Batch(node, own[: len(own) - rank])

    def flat(self, tensor: Tensor, rank: int = 2) -> Tensor:
        """Return a tensor with the batch as one dimension."""
        own = sizes.sizes_of(Value(ssa=tensor))
        return sizes.reshaped(tensor, [self.count, *own[len(own) - rank :]])

    def spread(self, tensor: Tensor, rank: int = 2) -> Tensor:
        """Broadcast a tensor over the whole batch, and return it with the batch as one dimension."""
        own = sizes.sizes_of(Value(ssa=tensor))
        behind = own[len(own) - rank :]
        if len(own) - rank == len(self.lead) and own[: len(self.lead)] == self.lead:
            return self.flat(tensor, rank)
        return self.flat(sizes.broadcast(tensor, [*self.lead, *behind]), rank)

    def call(
        self, kernel: Callable[..., None], tensors: Sequence[Tensor], *results: tuple[Sequence[Any], str]
    ) -> list[Tensor]:
        """Call a kernel with flat tensors, and return the results in the batch's shape.

        Each result is described by its last sizes and its element type.
        """
        infos = [TensorInfo((self.count, *shape), dtype) for shape, dtype in results]
        made = self._node.call_tir(kernel, list(tensors), infos)
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        return [sizes.reshaped(each, [*self.lead, *shape]) for each, (shape, _) in zip(made, results, strict=True)]


def transposed(tensor: Tensor) -> Tensor:
    """Swap the last two dimensions."""
    rank = tensor.type.rank
    return relax.permute_dims(tensor, axes=[*range(rank - 2), rank - 1, rank - 2])
