# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention kernels that only NVIDIA's GPUs run."""
