# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels for a device that is not the CPU: what is the same for all kinds of devices."""
