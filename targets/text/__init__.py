# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What targets that write programs as text share: C, OpenCL C, WGSL."""
