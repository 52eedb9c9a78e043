# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of attention: scores stay in registers and shared memory."""
