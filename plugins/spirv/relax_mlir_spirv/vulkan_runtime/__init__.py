# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels for Vulkan: loader, devices, and the page of a device's state."""
