# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels for OpenCL: the loader, devices, what code finds a device by."""
