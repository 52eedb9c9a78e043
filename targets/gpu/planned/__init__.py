# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes kernels of planned operations: what each thread of a block loads, computes and stores."""
