# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices by WebGPU: in browsers, and here by the package wgpu."""

from __future__ import annotations

from ..core.registry import Target
from .backend import WebgpuBackend
from .options import OPTIONS

TARGET = Target(
    "webgpu",
    parents=("spirv",),
    rule_modules=(f"{__package__}.intrinsics.single_functions",),
    host="llvm",
    doc="Devices by WebGPU, by WGSL: in browsers, and by the package wgpu.",
    options=OPTIONS,
    backend=WebgpuBackend,
)
