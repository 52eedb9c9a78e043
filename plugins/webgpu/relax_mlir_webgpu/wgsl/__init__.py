# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translation of kernels to text in WGSL."""
