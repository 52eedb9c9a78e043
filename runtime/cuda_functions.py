# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses of CUDA driver functions, for lists of native calls."""

from __future__ import annotations


def cuda_function_address(name: str) -> int:
    """Return the address of a function of the CUDA driver, such as "cuMemsetD8Async".

    Raises DeviceError if there is no driver, or if the driver lacks the function.
    """
    from .cuda.driver import driver  # loads libcuda, which programs for other devices do not need

    return driver().address(name)
