# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as SPIR-V: code shared by Vulkan and OpenCL."""
