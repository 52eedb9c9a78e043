# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of differences between integers: the place and the size of wrong results show which arithmetic is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy
from relax_mlir.support.requantization import ROUNDINGS, rounded_quotients

from .integer_reference import Rounding

if TYPE_CHECKING:
    from numpy import ndarray

#: Least magnitude of sums that narrow accumulators cannot hold, and of sums near the limits of i32.
_WIDE, _NEAR_LIMITS = 1 << 14, 1 << 24
#: Least relative change of a scale.
_LEAST_CHANGE = 0.03
_MOST_LISTED = 4


class Diagnosis(NamedTuple):
    """Kind of a difference, such as "rounding", and what shows it."""

    kind: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def diagnose(found: ndarray, expected: ndarray, by: Rounding | None) -> Diagnosis | None:
    """Return the kind of the difference of integer results, or None without a difference."""
    if found.shape != expected.shape or not (found != expected).any():
        return None
    if by is None or by.quotients.size != expected.size:
        most = int(abs(found - expected).max())
        return Diagnosis("rounding", "by one step") if most == 1 else Diagnosis("sums", f"by up to {most} steps")
    shape = by.quotients.shape  # a view of the result may follow
    return _Difference(found.reshape(shape), expected.reshape(shape), by).diagnosis()


class _Difference:
    def __init__(self, found: ndarray, expected: ndarray, by: Rounding) -> None:
        self._found, self._expected, self._by = found, expected, by
        self._steps = found - expected
        self._wrong = self._steps != 0
        self._raw = rounded_quotients(by.quotients, by.rounding).astype("int64") + by.zero
        #: Limits of an activation, inside of the type's limits.
        raised, lowered = expected[self._raw < expected], expected[self._raw > expected]
        self._least = int(raised.min()) if raised.size else by.low
        self._most = int(lowered.max()) if lowered.size else by.high
        free = (self._raw > self._least) & (self._raw < self._most)
        #: Results that no limit changes.
        self._inside = free & (found > by.low) & (found < by.high)

    def diagnosis(self) -> Diagnosis:
        most = int(abs(self._steps).max())
        return (
            self._diagnose_rounding(most)
            or self._diagnose_limits()
            or self._diagnose_constant()
            or self._near_limits_of_sums()
            or self._diagnose_scale()
            or self._diagnose_place()
            or self._diagnose_large_sums()
            or self._diagnose_constants()
            or (Diagnosis("rounding", "by one step") if most == 1 else Diagnosis("sums", f"by up to {most} steps"))
        )

    def _diagnose_rounding(self, most: int) -> Diagnosis | None:
        if most > 1:
            return None
        is_tie = abs(abs(self._by.quotients - numpy.floor(self._by.quotients)) - 0.5) < 1e-9
        where = "one step at ties only" if is_tie[self._wrong].all() else "one step"
        for rounding in ROUNDINGS:
            other = rounded_quotients(self._by.quotients, rounding).astype("int64") + self._by.zero
            if (other.clip(self._least, self._most) == self._found).all():
                return Diagnosis("rounding", f"{where}, as '{rounding}' instead of '{self._by.rounding}'")
        return Diagnosis("rounding", where) if is_tie[self._wrong].all() else None

    def _diagnose_limits(self) -> Diagnosis | None:
        least, most = int(self._found.min()), int(self._found.max())
        if least < most and (self._raw.clip(least, most) == self._found).all():
            is_of_type = self._least == self._by.low if least != self._expected.min() else self._most == self._by.high
            kind = "saturation" if is_of_type else "activation"
            return Diagnosis(kind, f"results are limited to {least} and {most}")
        above, below = self._raw >= self._most, self._raw <= self._least
        if not (above | below)[self._wrong].all():
            return None
        side = "above" if above[self._wrong].all() else "below" if below[self._wrong].all() else "above and below"
        limits = (self._most, self._by.high) if side == "above" else (self._least, self._by.low)
        kind = "saturation" if limits[0] == limits[1] else "activation"
        return Diagnosis(kind, f"only where results are at the limit or {side}")

    def _diagnose_place(self) -> Diagnosis | None:
        """Tell borders, which padding reaches, and channels, which have scales and biases of their own."""
        axis, rank = self._by.channel_axis, self._wrong.ndim
        border = numpy.zeros(self._wrong.shape, bool)
        for spatial_axis in self._by.spatial_axes:
            places = numpy.arange(self._wrong.shape[spatial_axis])
            at_end = (places == 0) | (places == places[-1]) if places.size else places == 0
            border |= at_end.reshape([-1 if place == spatial_axis % rank else 1 for place in range(rank)])
        if self._by.is_padded and not self._wrong[~border].any() and (~border).any():
            return Diagnosis("padding", "only at borders")
        others = tuple(index for index in range(rank) if index != axis % rank)
        counts, wrong = self._inside.sum(others), (self._wrong & self._inside).sum(others)
        right = (counts > 0) & ~self._wrong.any(others)
        if right.any() and wrong.any() and (wrong > counts / 2)[wrong > 0].mean() > 0.5:
            listed = [str(each) for each in numpy.flatnonzero(right)[:_MOST_LISTED]]
            return Diagnosis("channels", f"all but the channels {', '.join(listed)}")
        return None

    def _near_limits_of_sums(self) -> Diagnosis | None:
        if self._by.sums is None or (least := int(abs(self._by.sums).min())) < _NEAR_LIMITS:
            return None
        return Diagnosis("overflow", f"where sums are {least} and more, near the limits of 32 bits")

    def _diagnose_large_sums(self) -> Diagnosis | None:
        if self._by.sums is None:
            return None
        sizes = abs(self._by.sums)
        least = int(sizes[self._wrong].min())
        is_large = sizes >= least
        if least >= _WIDE and self._wrong[is_large].mean() > 0.5 and is_large.mean() < 0.9:
            return Diagnosis("overflow", f"only where sums are {least} and more")
        return None

    def _diagnose_constant(self) -> Diagnosis | None:
        steps = self._steps[self._inside]
        if steps.size and steps.min() == steps.max() != 0:
            return Diagnosis("zero point", f"by {steps[0]} everywhere")
        return None

    def _diagnose_constants(self) -> Diagnosis | None:
        axis = self._by.channel_axis
        channels = numpy.moveaxis(self._steps, axis, 0).reshape(self._steps.shape[axis], -1)
        inside = numpy.moveaxis(self._inside, axis, 0).reshape(channels.shape)
        found = [channel[seen] for channel, seen in zip(channels, inside, strict=True) if seen.any()]
        if found and all(each.max() - each.min() <= 1 for each in found) and any(abs(each).max() > 1 for each in found):
            return Diagnosis("zero point", "by a constant in each channel: a zero point of operands, or a bias")
        return None

    def _diagnose_scale(self) -> Diagnosis | None:
        found, expected = ((each - self._by.zero)[self._inside] for each in (self._found, self._expected))
        if not (expected != 0).any():
            return None
        factor = float((found * expected).sum() / (expected * expected).sum())
        is_other = abs(factor - 1) > _LEAST_CHANGE and (found != expected).mean() > 0.5
        if is_other and (abs(found - factor * expected) <= 1 + abs(factor)).all():
            return Diagnosis("scale", f"results are {factor:.4g} times the expected ones")
        return None
