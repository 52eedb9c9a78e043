# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges of numbers that a quantized type represents, chosen from the histogram of a stream of arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

if TYPE_CHECKING:
    from numpy import ndarray

#: Bins on each side of 0.
_BINS = 2048
#: Numbers that are counted at once, so that temporary arrays stay in the cache.
_CHUNK = 1 << 16
#: Share of the numbers that `percentile` represents without a clip.
_PERCENTILE = 99.99
_METHODS = ("minmax", "percentile", "mse", "entropy")
#: Candidate ranges of `mse` and `entropy`, as shares of the whole range.
_SHARES = tuple(share / 64 for share in range(16, 65))


class NumberRange(NamedTuple):
    """Least and largest number."""

    least: float
    most: float

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.least) and math.isfinite(self.most)

    def joined(self, other: NumberRange) -> NumberRange:
        return NumberRange(min(self.least, other.least), max(self.most, other.most))


def range_of(array: ndarray) -> NumberRange:
    """Return the range of an array. It is not finite if a number is not."""
    return NumberRange(float(array.min()), float(array.max())) if array.size else NumberRange(0.0, 0.0)


class Histogram:
    """Counts of a stream's numbers in bins around 0. Bins become twice as wide when a larger number arrives."""

    def __init__(self) -> None:
        import numpy

        self._counts = numpy.zeros(2 * _BINS, numpy.int64)
        #: The largest magnitude of the bins.
        self._reach = 0.0
        self.range: NumberRange | None = None

    def add(self, array: ndarray, number_range: NumberRange | None = None) -> None:
        """Count the numbers of an array. They have to be finite. `found` is their range, if it is known."""
        import numpy

        if not array.size:
            return
        number_range = range_of(array) if number_range is None else number_range
        self.range = number_range if self.range is None else self.range.joined(number_range)
        self._grow(max(-number_range.least, number_range.most))
        if not self._reach:
            self._counts[_BINS] += array.size
            return
        flat, factor = array.reshape(-1), numpy.float32(_BINS / self._reach)
        for first in range(0, flat.size, _CHUNK):
            numbers = flat[first : first + _CHUNK].astype(numpy.float32, copy=False) * factor
            numbers += _BINS
            # The reach itself has a place behind the last bin. Rounded places below 0 become 0.
            counts = numpy.bincount(numbers.astype(numpy.intp), minlength=2 * _BINS + 1)
            self._counts += counts[:-1]
            self._counts[-1] += counts[-1]

    def add_all(self, other: Histogram) -> None:
        """Count the numbers of another histogram."""
        import numpy

        if other.range is None:
            return
        self.range = other.range if self.range is None else self.range.joined(other.range)
        self._grow(other._reach)
        centers = other._centers
        places = numpy.full(centers.shape, _BINS) if not self._reach else (centers / self._reach * _BINS + _BINS)
        numpy.add.at(self._counts, numpy.clip(places, 0, 2 * _BINS - 1).astype(int), other._counts)

    def state(self) -> dict[str, ndarray]:
        """Return copies of the counts and the ranges, for `restore`."""
        import numpy

        limits = [] if self.range is None else [*self.range]
        return {"counts": self._counts.copy(), "limits": numpy.array([self._reach, *limits])}

    def restore(self, state: Mapping[str, ndarray]) -> None:
        """Continue with the state of another histogram."""
        self._reach, *limits = (float(each) for each in state["limits"])
        self._counts = state["counts"].copy()
        self.range = NumberRange(*limits) if limits else None

    def _grow(self, magnitude: float) -> None:
        """Widen the bins until they reach a magnitude."""
        import numpy

        if not self._reach:
            zeros = self._counts.sum()
            self._counts[:] = 0
            self._counts[_BINS] = zeros
            self._reach = magnitude
        while self._reach < magnitude:
            pairs = self._counts.reshape(_BINS, 2).sum(1)
            half = _BINS // 2
            self._counts = numpy.concatenate([numpy.zeros(half, numpy.int64), pairs, numpy.zeros(half, numpy.int64)])
            self._reach *= 2

    @property
    def _centers(self) -> ndarray:
        import numpy

        return (numpy.arange(2 * _BINS) + 0.5 - _BINS) * (self._reach / _BINS)

    def chosen(self, method: str, levels: int, *, symmetric: bool) -> NumberRange:
        """Return the range by a method. `levels` is the number of integers of the type."""
        assert self.range is not None
        whole = NumberRange(min(self.range.least, 0.0), max(self.range.most, 0.0))
        if symmetric:
            most = max(-whole.least, whole.most)
            whole = NumberRange(-most, most)
        if method == "minmax" or whole.least == whole.most:
            return whole
        if method == "percentile":
            return self._percentile(whole)
        error = self._squared_error if method == "mse" else self._divergence
        candidates = [NumberRange(whole.least * share, whole.most * share) for share in _SHARES]
        return min(reversed(candidates), key=lambda candidate: error(candidate, levels))

    def _percentile(self, whole: NumberRange) -> NumberRange:
        import numpy

        cut = (1 - _PERCENTILE / 100) * self._counts.sum() / 2
        sums = self._counts.cumsum()
        last = self._counts.size - 1
        first_place = int(numpy.searchsorted(sums, cut, side="right"))
        last_place = int(numpy.searchsorted(sums, sums[-1] - cut, side="left"))
        edges = (numpy.arange(last + 2) - _BINS) * (self._reach / _BINS)
        least = min(float(edges[min(first_place, last)]), 0.0)
        most = max(float(edges[min(last_place, last) + 1]), 0.0)
        return NumberRange(max(least, whole.least), min(most, whole.most))

    def _squared_error(self, limits: NumberRange, levels: int) -> float:
        """Return the sum of the squared errors of rounding and clipping."""
        import numpy

        centers = self._centers
        step = (limits.most - limits.least) / (levels - 1)
        clipped = numpy.clip(centers, limits.least, limits.most)
        # Numbers inside a bin are spread, so a rounding error has the variance of its step.
        error = (centers - clipped) ** 2 + step * step / 12
        return float((error * self._counts).sum())

    def _divergence(self, limits: NumberRange, levels: int) -> float:
        """Return the Kullback-Leibler divergence of the clipped numbers from their quantized distribution."""
        import numpy

        centers, counts = self._centers, self._counts.astype(float)
        # Zeros have no error, and the many zeros of a relu would narrow the range.
        counts[_BINS] = min(counts[_BINS], max(counts[_BINS - 1], counts[_BINS + 1]))
        inside = (centers >= limits.least) & (centers <= limits.most)
        if not inside.any():
            return float("inf")
        kept = counts[inside]
        clipped = kept.copy()
        clipped[0] += counts[centers < limits.least].sum()
        clipped[-1] += counts[centers > limits.most].sum()
        places = numpy.clip(
            ((centers[inside] - limits.least) / (limits.most - limits.least) * levels).astype(int), 0, levels - 1
        )
        occupied = kept > 0
        totals = numpy.bincount(places, kept, levels)
        sizes = numpy.bincount(places, occupied.astype(float), levels)
        spread = numpy.where(occupied, totals[places] / numpy.maximum(sizes[places], 1), 0)
        expected, found = clipped / clipped.sum(), (spread + 1e-12) / (spread + 1e-12).sum()
        known = expected > 0
        return float((expected[known] * numpy.log(expected[known] / found[known])).sum())


def check_method(method: str) -> None:
    """Raise OptionError for an unknown method."""
    if method not in _METHODS:
        raise OptionError(f"calibrate='{method}': expected one of {', '.join(_METHODS)}{suggest(method, _METHODS)}")
