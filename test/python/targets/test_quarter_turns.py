# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sines and cosines of numbers of any magnitude: any number of whole turns is subtracted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from intrinsic_jit import run_intrinsic
from intrinsic_oracle import LONG, ORACLES, distance

# For each exponent: a power of two, the largest number, and some between.
_MANTISSAS = (1.0, 1.1, 1.25, 1.5707963267948966, 1.75, 1.9999999)


def _of_all_sizes(dtype: Any) -> Any:
    info = np.finfo(dtype)
    exponents = range(-3, info.maxexp)
    with np.errstate(over="ignore"):
        values = np.array([[np.ldexp(dtype(each), power) for each in _MANTISSAS] for power in exponents], dtype)
    # The nearest that a number of 64 bits comes to a multiple of a quarter turn.
    nearest = [6381956970095103.0 * 2.0**797] if dtype is np.float64 else [16367173.0 * 2.0**72]
    return np.concatenate([values.ravel(), -values.ravel(), np.array(nearest, dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_numbers_of_every_size(name: str, dtype: Any) -> None:
    x = _of_all_sizes(dtype)
    got, expected = run_intrinsic(f"tir.{name}", x), ORACLES[name].function(x.astype(LONG))
    errors = distance(got, expected)
    worst = int(np.argmax(errors))
    assert errors[worst] <= ORACLES[name].bound, (
        f"{name}({x[worst]!r}) is {got[worst]!r} and should be {expected[worst]!r}"
    )
