# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code shared by targets that write programs as text: C, OpenCL C, WGSL."""
