# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of planned products by instructions that devices by SPIR-V have."""
