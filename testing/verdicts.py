# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes of a case, and how far results are from what is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from . import agreement

if TYPE_CHECKING:
    from numpy import ndarray

#: The worst first. Those before "refused" are faults of what is checked; not taken is fine, wrong is not.
VERDICTS = (
    "crash", "hang", "wrong", "unsteady", "error", "no memory", "leak", "deviates", "refused", "not taken", "unchecked",
    "right",
)  # fmt: skip
FAULTS = frozenset(VERDICTS[: VERDICTS.index("deviates")])


class Error(NamedTuple):
    """How far results are from the reference's, at most."""

    absolute: float = 0.0
    #: In units of the last place of the element type.
    ulp: float = 0.0
    #: The signal's power over the error's, in decibels; None where there is no error, or no signal.
    snr: float | None = None


class Verdict(NamedTuple):
    """What came of a case."""

    case: str
    group: str
    verdict: str
    reason: str = ""
    error: Error | None = None
    #: How many operators went to the codegen, of how many. Of a target: how many operators and kernels its own rules
    #: and schedules took.
    taken: int = 0
    operators: int = 0
    #: What crosses into and out of parts in a call.
    bytes_across: int | None = None
    seconds: float | None = None
    #: The same by the target alone.
    target_seconds: float | None = None
    #: The call in which a fault showed, counted from 0; None where no call was reached.
    call: int | None = None
    #: The folder that holds the fault's case, and the command that runs it again; empty where no case is kept.
    kept: str = ""
    again: str = ""

    @property
    def is_fault(self) -> bool:
        return self.verdict in FAULTS


def error_of(actual: Sequence[ndarray], expected: Sequence[ndarray]) -> Error:
    """Over all results of a call that have the right sizes."""
    found = [_error(*pair) for pair in zip(actual, expected, strict=True) if pair[0].shape == pair[1].shape]
    known = [each.snr for each in found if each.snr is not None]
    return Error(
        max((each.absolute for each in found), default=0.0),
        max((each.ulp for each in found), default=0.0),
        min(known) if known else None,
    )


def _error(actual: ndarray, expected: ndarray) -> Error:
    if expected.dtype.kind in "biuO" or not expected.size:
        return Error(float(numpy.abs(actual.astype(float) - expected.astype(float)).max(initial=0.0)))
    a, b = actual.astype("float64"), expected.astype("float64")
    with numpy.errstate(all="ignore"):
        is_compared = numpy.isfinite(a) & numpy.isfinite(b)
        gap, signal = numpy.abs(a - b)[is_compared], b[is_compared]
        spacing = _spacing(signal, expected.dtype)
        power, noise = float((signal**2).sum()), float((gap**2).sum())
        snr = 10 * float(numpy.log10(power / noise)) if power and noise else None
        return Error(float(gap.max(initial=0.0)), float((gap / spacing).max(initial=0.0)), snr)


def _spacing(values: ndarray, dtype: Any) -> ndarray:
    """The distance to the next number of an element type."""
    import ml_dtypes

    limits = ml_dtypes.finfo(dtype)
    _, exponents = numpy.frexp(numpy.abs(values))
    return numpy.ldexp(1.0, numpy.maximum(exponents - 1, limits.minexp) - limits.nmant)


def problem(
    actual: Sequence[ndarray], expected: Sequence[ndarray], shaken: Sequence[Sequence[ndarray]], tolerance: float | None
) -> str:
    """What is wrong with a call's results, empty if nothing is: `shaken` are the reference's with noise.

    With a tolerance, results may be that far away, relative to the largest number of a result.
    """
    for index, (found, wanted) in enumerate(zip(actual, expected, strict=True)):
        different = agreement.difference(found, wanted, [each[index] for each in shaken])
        if different and not _is_tolerable(found, wanted, tolerance):
            return f"result {index}: {different}" if len(expected) > 1 else different
    return ""


def _is_tolerable(found: ndarray, wanted: ndarray, tolerance: float | None) -> bool:
    if tolerance is None or found.shape != wanted.shape or found.dtype != wanted.dtype or wanted.dtype.kind in "biu":
        return False
    a, b = found.astype("float64"), wanted.astype("float64")
    allowed = tolerance * float(numpy.abs(b[numpy.isfinite(b)]).max(initial=0.0))
    with numpy.errstate(all="ignore"):
        return bool(((a == b) | (numpy.isnan(a) & numpy.isnan(b)) | (numpy.abs(a - b) <= allowed)).all())
