# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target spirv: code shared by devices that accept SPIR-V."""

from __future__ import annotations

from ..core.registry import Target

#: Functions are computed by llvm's polynomials.
_FAMILIES = ("exponential", "logarithm", "trigonometric", "hyperbolic", "special")
_LLVM = f"{__package__.rpartition('.')[0]}.llvm.intrinsics"

TARGET = Target(
    "spirv",
    parents=("gpu",),
    rule_modules=(*(f"{_LLVM}.{family}" for family in _FAMILIES), f"{__package__}.intrinsics.c_functions"),
    doc="Devices that accept SPIR-V: code shared by Vulkan and OpenCL.",
)
