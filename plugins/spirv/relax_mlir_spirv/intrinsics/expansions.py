# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expansions of CPUs as rules of spirv. Most devices' own functions are less accurate, and have no f64 form."""

from __future__ import annotations

from relax_mlir.passes.kernels.intrinsics.registry import register_legalize_intrinsic
from relax_mlir.targets.llvm.intrinsics import (  # noqa: F401  # importing them makes their expansions known
    exponential,
    hyperbolic,
    logarithm,
    special,
    trigonometric,
)
from relax_mlir.targets.llvm.intrinsics.expansion import EXPANSIONS

for _each in EXPANSIONS:
    register_legalize_intrinsic(_each.name, "spirv", fast_math=_each.fast_math, dtypes=_each.dtypes)(_each.rule)
