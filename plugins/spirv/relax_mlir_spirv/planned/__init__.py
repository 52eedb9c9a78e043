# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of planned products with SPIR-V instructions."""
