# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When a result is right: how far it may be from the oracle's, by element type and by what the graph does with errors.

No fixed tolerance fits a random graph: the difference of two nearly equal sums has few digits, and a comparison of
them none. So the oracle computes the graph several times, with errors of the size that an operator may make put in
before and after each (`graphs.Noise`). What changes says how well determined each element is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

#: The relative error of an operator: some steps of the type (functions have up to four, sums add in another order).
STEPS = {"float64": 4e-15, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
#: ONNX's attributes and their defaults are float32 for onnxruntime, doubles for the reference evaluator.
ONNX_STEPS = {**STEPS, "float64": 1e-7}
#: How often noise is put in: an element that can be either of two values shows it in all but 1 of 2^6 cases.
SHAKES = 6
#: The same where something differs: of hundreds of such elements one in 2^6 is too many.
MANY_SHAKES = 40
_SPREADS = 8.0


Steps = Mapping[str, float]


def difference(actual: Any, expected: Any, shaken: Sequence[Any], steps: Steps = STEPS) -> str:
    """What is wrong with a result, "" if nothing is; `shaken` are the oracle's with noise."""
    if actual.dtype != expected.dtype:
        return f"its element type is {actual.dtype}, not {expected.dtype}"
    if any(each.shape != expected.shape for each in shaken):
        return ""  # how many elements there are hangs on rounding
    if actual.shape != expected.shape:
        return f"its shape is {actual.shape}, not {expected.shape}"
    found, wanted = (numpy.asarray(each) for each in (actual, expected))
    right = numpy.asarray(found == wanted)
    if expected.dtype.name in steps:
        found, wanted = (numpy.asarray(each).astype("float64") for each in (found, wanted))
        with numpy.errstate(all="ignore"):
            right = (found == wanted) | numpy.isnan(found) & numpy.isnan(wanted) | _near(found, wanted, shaken, steps)
    right = right | _undetermined(wanted, shaken)
    if right.all():
        return ""
    at = tuple(int(each) for each in numpy.argwhere(~right)[0])
    return f"{int((~right).sum())} of {right.size} elements differ, at {at} {found[at]} instead of {wanted[at]}"


def _near(found: Any, wanted: Any, shaken: Sequence[Any], steps: Steps) -> Any:
    dtype = shaken[0].dtype
    spread = numpy.zeros(wanted.shape)
    for each in shaken:
        spread = numpy.fmax(spread, abs(each.astype("float64") - wanted))
    step = steps[dtype.name]
    least = 4 * float(_limits(dtype).smallest_subnormal) + 2 * float(_limits(dtype).tiny)
    return abs(found - wanted) <= _SPREADS * spread + 4 * step * abs(wanted) + least


def _limits(dtype: Any) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def _undetermined(wanted: Any, shaken: Sequence[Any]) -> Any:
    """Integers that change, and floats that are sometimes infinite or no numbers."""
    changed = numpy.zeros(wanted.shape, bool)
    for each in shaken:
        if each.dtype.name in STEPS:
            wide = each.astype("float64")
            changed |= (numpy.isnan(wide) != numpy.isnan(wanted)) | (numpy.isinf(wide) != numpy.isinf(wanted))
        else:
            changed |= numpy.asarray(each != wanted)
    return changed
