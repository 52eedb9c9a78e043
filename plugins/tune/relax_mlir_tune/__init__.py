# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for faster plans of kernels by measurement: `relax_mlir_tune.tune`, `relax-tune`."""

from .placement import PlacementProgress, PlacementTuning, tune_placement
from .program import Choice, register_choice
from .tune import Progress, Tuning, tune

__all__ = [
    "Choice",
    "PlacementProgress",
    "PlacementTuning",
    "Progress",
    "Tuning",
    "register_choice",
    "tune",
    "tune_placement",
]
