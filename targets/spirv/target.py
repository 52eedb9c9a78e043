# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What devices by SPIR-V have in common."""

from __future__ import annotations

from ..core.registry import Target

#: Functions are arithmetic: llvm's polynomials.
_FAMILIES = ("exponential", "logarithm", "trigonometric", "hyperbolic", "special")
_LLVM = f"{__package__.rpartition('.')[0]}.llvm.intrinsics"

TARGET = Target(
    "spirv",
    parents=("gpu",),
    rule_modules=(*(f"{_LLVM}.{family}" for family in _FAMILIES), f"{__package__}.intrinsics.c_functions"),
    doc="Devices that take SPIR-V: what Vulkan and OpenCL share.",
)
