# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as SPIR-V: what Vulkan and OpenCL share."""
