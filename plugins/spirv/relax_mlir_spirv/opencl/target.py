# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target opencl: OpenCL devices."""

from __future__ import annotations

from relax_mlir.targets.core.registry import Target, TargetOption, register_target
from relax_mlir.targets.host.units import register_library

from ..host_library import OPENCL_UNITS
from ..options import OPTIONS
from .backend import OpenCLBackend

LANGUAGE = TargetOption("language", "format of kernels: spirv (default), or c: text for drivers without SPIR-V")

register_library(*OPENCL_UNITS)
TARGET = register_target(
    Target(
        "opencl",
        parents=("spirv",),
        host="llvm",
        doc="OpenCL devices, programmed in SPIR-V or OpenCL C.",
        options=(*OPTIONS, LANGUAGE),
        backend=OpenCLBackend,
    )
)
