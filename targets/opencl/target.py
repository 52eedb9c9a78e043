# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices by OpenCL."""

from __future__ import annotations

from ..core.registry import Target, TargetOption
from ..spirv.options import OPTIONS
from .backend import OpenCLBackend

LANGUAGE = TargetOption(
    "language", "what kernels are: spirv (the usual), or c: text, which drivers without SPIR-V take"
)

TARGET = Target(
    "opencl",
    parents=("spirv",),
    host="llvm",
    doc="Devices by OpenCL, by SPIR-V.",
    options=(*OPTIONS, LANGUAGE),
    backend=OpenCLBackend,
)
