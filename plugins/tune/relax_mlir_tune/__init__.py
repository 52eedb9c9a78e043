# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for faster plans of kernels by measurement: `relax_mlir_tune.tune`, `relax-tune`."""

from .placement import PlacementProgress, PlacementTuning, tune_placement
from .tune import Progress, Tuning, tune

__all__ = ["PlacementProgress", "PlacementTuning", "Progress", "Tuning", "tune", "tune_placement"]
