# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of kernels for planned operations: loads, computation and stores of each thread of a block."""
