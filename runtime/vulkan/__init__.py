# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels for Vulkan: the loader, devices, what code finds a device by."""
