# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verdicts of cases, and errors of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy

from . import agreement

if TYPE_CHECKING:
    from numpy import ndarray

#: The worst first. Verdicts before "deviates" are faults of the subject. "not taken" is acceptable, "wrong" is not.
VERDICTS = (
    "crash", "hang", "wrong", "unsteady", "other bits", "error", "no memory", "leak", "deviates", "refused",
    "not taken", "unchecked", "right",
)  # fmt: skip
#: End of the reason of right results that are not equal to the reference in steps of their scale.
WITHIN_STEPS = "no out= states its integers"
#: Verdict of a case that has no module. Reports count these apart.
ABSENT = "absent"
FAULTS = frozenset(VERDICTS[: VERDICTS.index("deviates")])


class Error(NamedTuple):
    """Largest errors of results against the reference."""

    absolute: float = 0.0
    #: Error in units in the last place of the element type.
    ulp: float = 0.0
    #: Signal-to-noise ratio in decibels, or None without error or signal.
    snr: float | None = None


class Verdict(NamedTuple):
    """Verdict of a case."""

    case: str
    group: str
    verdict: str
    reason: str = ""
    error: Error | None = None
    #: Number of operators that the codegen took. For a target: operators and kernels that its own rules took.
    taken: int = 0
    operators: int = 0
    #: Bytes into and out of parts per call.
    bytes_across: int | None = None
    seconds: float | None = None
    #: Seconds of the target without codegens.
    target_seconds: float | None = None
    #: Index of the call that showed a fault, or None if no call was reached.
    call: int | None = None
    #: Folder of a fault's case and the command to run it again. Empty if the case is not kept.
    kept: str = ""
    again: str = ""
    #: Kind of a difference between integers, such as "rounding", as diagnosis.py finds it.
    kind: str = ""

    @property
    def is_fault(self) -> bool:
        return self.verdict in FAULTS


def error_of(actual: Sequence[ndarray], expected: Sequence[ndarray]) -> Error:
    """Return the largest errors over all results of a call with the right sizes."""
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


def _spacing(values: ndarray, dtype: numpy.dtype) -> ndarray:
    """Return the distance to the next number of an element type."""
    import ml_dtypes

    limits = ml_dtypes.finfo(dtype)
    _, exponents = numpy.frexp(numpy.abs(values))
    return numpy.ldexp(1.0, numpy.maximum(exponents - 1, limits.minexp) - limits.nmant)


def problem(
    actual: Sequence[ndarray], expected: Sequence[ndarray], shaken: Sequence[Sequence[ndarray]], tolerance: float | None
) -> str:
    """Describe wrong results of a call, or return "". `shaken` are the reference's results with noise.

    With a tolerance, results may be that far away, relative to the largest number of a result.
    """
    for index, (array, reference) in enumerate(zip(actual, expected, strict=True)):
        different = agreement.difference(array, reference, [arrays[index] for arrays in shaken])
        if different and not _is_tolerable(array, reference, tolerance):
            return f"result {index}: {different}" if len(expected) > 1 else different
    return ""


def _is_tolerable(found: ndarray, wanted: ndarray, tolerance: float | None) -> bool:
    if tolerance is None or found.shape != wanted.shape or found.dtype != wanted.dtype or wanted.dtype.kind in "biu":
        return False
    a, b = found.astype("float64"), wanted.astype("float64")
    allowed = tolerance * float(numpy.abs(b[numpy.isfinite(b)]).max(initial=0.0))
    with numpy.errstate(all="ignore"):
        return bool(((a == b) | (numpy.isnan(a) & numpy.isnan(b)) | (numpy.abs(a - b) <= allowed)).all())
