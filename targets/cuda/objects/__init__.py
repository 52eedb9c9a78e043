# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code for NVIDIA's GPUs: PTX and machine code."""
