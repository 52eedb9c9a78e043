# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `cublas`: products of matrices on NVIDIA's GPUs by cuBLASLt."""
