# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices by OpenCL."""

from __future__ import annotations

from ..core.registry import Target
from ..spirv.options import OPTIONS
from .backend import OpenCLBackend

TARGET = Target(
    "opencl",
    parents=("spirv",),
    host="llvm",
    doc="Devices by OpenCL, by SPIR-V.",
    options=OPTIONS,
    backend=OpenCLBackend,
)
