# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with kernels for NVIDIA GPUs: driver, loading, copies."""
