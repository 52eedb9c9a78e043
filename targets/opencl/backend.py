# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How code is made for OpenCL."""

from __future__ import annotations

from typing import ClassVar

from ..spirv.backend import SpirvBackend


class OpenCLBackend(SpirvBackend):
    """Kernels by SPIR-V for OpenCL."""

    api: ClassVar[str] = "opencl"
