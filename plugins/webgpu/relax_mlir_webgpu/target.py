# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target for devices with WebGPU: in browsers, and on this machine with the package wgpu."""

from __future__ import annotations

from relax_mlir import Target, register_target

from .backend import WebgpuBackend
from .options import OPTIONS

TARGET = register_target(
    Target(
        "webgpu",
        parents=("spirv",),
        rule_modules=(f"{__package__}.intrinsics.single_functions",),
        host="llvm",
        doc="WebGPU devices, programmed in WGSL: in browsers, and with the package wgpu.",
        options=OPTIONS,
        backend=WebgpuBackend,
    )
)
