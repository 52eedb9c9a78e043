# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target spirv: code shared by devices that accept SPIR-V."""

from __future__ import annotations

from relax_mlir.targets.core.registry import Target, register_target

TARGET = register_target(
    Target(
        "spirv",
        parents=("gpu",),
        rule_modules=(f"{__package__}.intrinsics.expansions", f"{__package__}.intrinsics.c_functions"),
        doc="Devices that accept SPIR-V: code shared by Vulkan and OpenCL.",
    )
)
