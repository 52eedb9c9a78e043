# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Validation of programs' kernels by Khronos' spirv-val, where it is installed (apt: spirv-tools)."""

from __future__ import annotations

import functools
import shutil
import subprocess

from relax_mlir.runtime import Executable
from relax_mlir_spirv.abi import unpacked

#: Which rules kernels keep: the oldest interface that they are for, where their target does not say another one.
_ENVIRONMENTS = {"vulkan": "vulkan1.2", "opencl": "spv1.3"}
#: Message of a spirv-val that is older than the extension for cooperative matrices.
_TOO_OLD = "Invalid capability operand: 6022"


def check(executable: Executable) -> None:
    """Fail with spirv-val's message if a kernel is not valid."""
    for code in (each for each in executable._artifact.devices if each.format == "spirv"):
        for module in {kernel.module for kernel in unpacked(code.data)[0]}:
            newer = "vulkan1.3" if "version=1.3" in code.arch or "matrices=" in code.arch else ""
            complaint = validated(module, newer or _ENVIRONMENTS[code.kind])
            assert not complaint, complaint


@functools.lru_cache(maxsize=1024)
def validated(module: bytes, environment: str) -> str:
    """Return spirv-val's message about a module. The message is empty for a valid module, or without spirv-val."""
    if shutil.which("spirv-val") is None:
        return ""
    command = ["spirv-val", "--target-env", environment, "-"]
    complaint = subprocess.run(command, input=module, capture_output=True, check=False).stderr.decode()
    return "" if _TOO_OLD in complaint else complaint
