# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of results: allowed distance from the oracle's, by element type and by the graph's error propagation.

No fixed tolerance fits a random graph: the difference of two nearly equal sums has few digits, and a comparison of them
none. The oracle therefore computes the graph several times, with errors as large as an operator may make before and
after each operator (`graphs.Noise`). The changes show how well determined each element is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

#: Relative error of an operator: a few units in the last place. Functions have up to four, and sums vary in order.
STEPS = {"float64": 4e-15, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
#: ONNX attributes and their defaults are f32 for onnxruntime, but doubles for the reference evaluator.
ONNX_STEPS = {**STEPS, "float64": 1e-7}
#: Number of noisy runs. An element that can be either of two values shows both in all but 1 of 2^6 cases.
SHAKES = 6
#: Number of noisy runs if something differs: of hundreds of such elements, one in 2^6 is too many.
MANY_SHAKES = 40
_SPREADS = 8.0


Steps = Mapping[str, float]


def difference(
    actual: numpy.ndarray, expected: numpy.ndarray, shaken: Sequence[numpy.ndarray], steps: Steps = STEPS
) -> str:
    """Describe the difference of a result, or return "" for none. `shaken` are the oracle's results with noise."""
    if actual.dtype != expected.dtype:
        return f"its element type is {actual.dtype}, not {expected.dtype}"
    if any(array.shape != expected.shape for array in shaken):
        return ""  # the number of elements depends on rounding
    if actual.shape != expected.shape:
        return f"its shape is {actual.shape}, not {expected.shape}"
    found, wanted = (numpy.asarray(array) for array in (actual, expected))
    right = numpy.asarray(found == wanted)
    if expected.dtype.name in steps:
        found, wanted = (numpy.asarray(each).astype("float64") for each in (found, wanted))
        with numpy.errstate(all="ignore"):
            right = (found == wanted) | numpy.isnan(found) & numpy.isnan(wanted) | _near(found, wanted, shaken, steps)
    right = right | _find_undetermined(wanted, shaken)
    if right.all():
        return ""
    at = tuple(int(each) for each in numpy.argwhere(~right)[0])
    return f"{int((~right).sum())} of {right.size} elements differ, at {at} {found[at]} instead of {wanted[at]}"


def _near(found: numpy.ndarray, wanted: numpy.ndarray, shaken: Sequence[numpy.ndarray], steps: Steps) -> numpy.ndarray:
    dtype = shaken[0].dtype
    spread = numpy.zeros(wanted.shape)
    for array in shaken:
        spread = numpy.fmax(spread, abs(array.astype("float64") - wanted))
    step = steps[dtype.name]
    least = 4 * float(_limits(dtype).smallest_subnormal) + 2 * float(_limits(dtype).tiny)
    return abs(found - wanted) <= _SPREADS * spread + 4 * step * abs(wanted) + least


def _limits(dtype: numpy.dtype) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def _find_undetermined(wanted: numpy.ndarray, shaken: Sequence[numpy.ndarray]) -> numpy.ndarray:
    """Return the integers that change, and the floats that are sometimes infinite or NaN."""
    changed = numpy.zeros(wanted.shape, bool)
    for array in shaken:
        if array.dtype.name in STEPS:
            wide = array.astype("float64")
            changed |= (numpy.isnan(wide) != numpy.isnan(wanted)) | (numpy.isinf(wide) != numpy.isinf(wanted))
        else:
            changed |= numpy.asarray(array != wanted)
    return changed
