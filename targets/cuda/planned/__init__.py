# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that only NVIDIA's GPUs run."""
