# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for the loops of kernels on CPUs: matrix products, convolutions, reductions, elementwise operations."""
