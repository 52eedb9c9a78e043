# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target opencl: OpenCL devices."""
