# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges by histogram: zeros, tails and methods."""

from __future__ import annotations

import numpy
import pytest
from relax_mlir.targets.core.code import stages_of
from relax_mlir_quantize.calibration import _stages_for_samples
from relax_mlir_quantize.ranges import Histogram


def _histogram(array: numpy.ndarray) -> Histogram:
    histogram = Histogram()
    histogram.add(array.astype("float32"))
    return histogram


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_zeros_of_a_relu_do_not_narrow_the_range_by_entropy(share: float) -> None:
    generator = numpy.random.default_rng(0)
    numbers = generator.uniform(0, 1, 20_000) * (generator.uniform(size=20_000) >= share)
    chosen = _histogram(numbers).chosen("entropy", 256, symmetric=False)
    assert chosen.least == 0
    assert chosen.most > 0.9


def test_entropy_cuts_a_thin_tail() -> None:
    numbers = numpy.random.default_rng(0).normal(size=100_000)
    numbers[0] = 40
    chosen = _histogram(numbers).chosen("entropy", 256, symmetric=True)
    assert 3 < chosen.most < 25


def test_calibration_packs_no_weights() -> None:
    """Packed copies of weights would stay in the module's context."""
    packing = [[each for stage in stages for each in stage.passes if "pack-constants" in str(each)] for stages in (
        stages_of("llvm"), _stages_for_samples()
    )]  # fmt: skip
    assert len(packing[0]) == 1 and not packing[1]
