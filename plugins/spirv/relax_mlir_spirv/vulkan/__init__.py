# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target vulkan: Vulkan devices."""
