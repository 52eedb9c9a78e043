# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes of a tensor, for sums, norms and softmax.

    rows = Reduction(x, [1])
    mean = rows.mean(widened, [rows.whole])                    # a tensor over the remaining axes
    rows.everywhere(lambda x, mean: x - mean, [rows.whole, rows.part(mean)], out)

Accuracy. Floats narrower than f32 are combined in f32 and rounded once. Short sums are accumulated one by one in f32.
For f32, the limit is the block length of NumPy's summation. For narrower floats, the limit is the length up to which
the error stays below their precision. Longer sums, and sums of dynamic length, are accumulated in f64, since the error
grows with the length. NumPy uses pairwise summation instead, which no affine loop can express. Memory bandwidth still
limits such a sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..bindings.ir import Value
from ..dialects.core.infos import is_float
from . import linalg
from .arithmetic import convert, element
from .broadcast import broadcast_generic
from .conversions import accumulator, limits, rounded, to_float, widened
from .linalg import ScalarBody
from .numbers import Number, as_i64, constant

#: Longest sum of f32 that is accumulated in f32, and the longest of narrower floats.
LONGEST_NARROW_SUM = 128
LONGEST_SUM_OF_NARROW = 4096
#: Tensor in a loop over the data, and the dimensions of the data that correspond to its own.
Read = tuple[Value, Sequence[int]]


def lowest(dtype: str) -> float | int:
    """Return a lower bound of all elements of a type."""
    return -math.inf if is_float(dtype) else limits(dtype)[0]


def highest(dtype: str) -> float | int:
    """Return an upper bound of all elements of a type."""
    return math.inf if is_float(dtype) else limits(dtype)[1]


class Reduction:
    """Tensor to reduce along some axes. Without axes, each element is its own result."""

    def __init__(self, data: Value, axes: Sequence[int]):
        self.data = data
        self.sizes = linalg.sizes(data)
        self.rank = len(self.sizes)
        self.axes = sorted(axes)
        self.kept = [axis for axis in range(self.rank) if axis not in self.axes]
        #: Element type of the computation.
        self.dtype = accumulator(str(data.type.element_type))

    @property
    def whole(self) -> Read:
        """Data as an operand of a loop over the data."""
        return self.alike(self.data)

    def alike(self, tensor: Value) -> Read:
        """Return a tensor of the data's shape as an operand of a loop over the data."""
        return tensor, range(self.rank)

    def part(self, tensor: Value) -> Read:
        """Return a tensor over the remaining axes as an operand of a loop over the data."""
        return tensor, self.kept

    @property
    def known_count(self) -> int | None:
        """Number of elements per result, or None if dynamic."""
        sizes = [self.sizes[axis] for axis in self.axes]
        known = [size for size in sizes if isinstance(size, int)]
        return math.prod(known) if len(known) == len(sizes) else None

    def count(self) -> Number:
        """Return the number of elements per result as an i64."""
        count = math.prod(self.sizes[axis] for axis in self.axes)
        return constant(count, "i64") if isinstance(count, int) else as_i64(count)

    def empty(self, dtype: str) -> Value:
        """Return an uninitialized tensor over the remaining axes."""
        return linalg.empty([self.sizes[axis] for axis in self.kept], element(dtype))

    # ---- loops ----
    def fold(self, step: Callable[..., Number], reads: Sequence[Read], start: float | int, output: Value) -> Value:
        """Compute `total = step(*elements, total)` along the axes, from `start`.

        `output` is over the remaining axes.
        """
        return self.fold_into(step, reads, linalg.fill(start, output))

    def fold_into(self, step: ScalarBody, reads: Sequence[Read], initial: Value) -> Value:
        """Reduce like `fold`, from the contents of `initial`."""
        maps = [linalg.select_dims(self.rank, dims) for _, dims in (*reads, self.part(initial))]
        kinds = [linalg.REDUCTION if axis in self.axes else linalg.PARALLEL for axis in range(self.rank)]
        return linalg.generic([value for value, _ in reads], [initial], maps, kinds, step)[0]

    def everywhere(self, body: Callable[..., Value], reads: Sequence[Read], output: Value) -> Value:
        """Compute `body(*elements)` for each element of the data. `output` has the data's shape."""
        return broadcast_generic([value for value, _ in reads], output, [list(dims) for _, dims in reads], body)

    def over_kept(self, body: Callable[..., Value], values: Sequence[Value], output: Value) -> Value:
        """Compute `body(*elements)` on tensors over the remaining axes.

        `output` may also have the reduced axes, with size 1.
        """
        dims = self.kept if linalg.rank_of(output) == self.rank else list(range(len(self.kept)))
        return broadcast_generic(values, output, [dims] * len(values), body)

    # ---- floats ----
    @property
    def sum_dtype(self) -> str:
        """Element type in which the data's floats are accumulated."""
        longest = LONGEST_NARROW_SUM if str(self.data.type.element_type) == "f32" else LONGEST_SUM_OF_NARROW
        is_short = self.known_count is not None and self.known_count <= longest
        return "f64" if self.dtype == "f32" and not is_short else self.dtype

    def sum(self, body: Callable[..., Number], reads: Sequence[Read]) -> Value:
        """Return the sums of `body(*elements)`, in `sum_dtype`."""
        dtype = self.sum_dtype

        def step(*scalars: Number) -> Number:
            *elements, total = scalars
            return total + to_float(body(*elements), dtype)

        return self.fold(step, reads, 0, self.empty(dtype))

    def total(self, body: Callable[..., Number], reads: Sequence[Read]) -> Value:
        """Return the sums of `body(*elements)`, in `dtype`."""
        sums = self.sum(body, reads)
        if self.sum_dtype == self.dtype:
            return sums
        return self.over_kept(lambda x: rounded(x, self.dtype), [sums], self.empty(self.dtype))

    def mean(self, body: Callable[..., Number], reads: Sequence[Read], output: Value | None = None) -> Value:
        """Return the means of `body(*elements)`, in `dtype` or in the output's element type."""
        output = self.empty(self.dtype) if output is None else output
        dtype, count = str(output.type.element_type), self.float_count(self.sum_dtype)
        return self.over_kept(lambda x: rounded(x / count, dtype), [self.sum(body, reads)], output)

    def float_count(self, dtype: str) -> Number:
        """Return the number of elements per result as a float."""
        if self.known_count is not None:
            return constant(self.known_count, dtype)
        return convert("arith.sitofp", self.count(), element(dtype))

    def variance(self, mean: Value, output: Value | None = None) -> Value:
        """Return the mean squared distances from the means.

        The function reads the data twice: subtracting the squared mean from the mean of squares loses precision for
        large means.
        """

        def squared_distance(x: Number, mean: Number) -> Number:
            distance = to_float(widened(x) - mean, self.sum_dtype)
            return distance * distance

        return self.mean(squared_distance, [self.whole, self.part(mean)], output)

    # ---- order ----
    def extreme(
        self, pick: Callable[[Number, Number], Number], start: float | int, dtype: str, output: Value | None = None
    ) -> Value:
        """Return the `maximum` or `minimum` of the elements. `dtype` is their type with signedness."""
        wide = accumulator(dtype)
        output = self.empty(wide) if output is None else output
        return self.fold(lambda x, best: pick(widened(x.of(dtype)), best), [self.whole], start, output)

    def position(self) -> Number:
        """Return the index of the current element among the elements of its result, as an i64.

        Call it inside a loop over the data.
        """
        if not self.axes:
            return constant(0, "i64")
        place = linalg.index(self.axes[0])
        for axis in self.axes[1:]:
            place = place * self.sizes[axis] + linalg.index(axis)
        return as_i64(place)
