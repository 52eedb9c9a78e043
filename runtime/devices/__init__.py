# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels for a device other than the CPU: the parts that all kinds of devices share."""
