# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of numbers on NVIDIA's GPUs."""
