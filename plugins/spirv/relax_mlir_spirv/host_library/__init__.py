# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host code of programs for Vulkan and OpenCL: units of the library that replace a driver's functions."""
