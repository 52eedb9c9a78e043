# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planning rules for the loops of kernels on NVIDIA's GPUs."""
