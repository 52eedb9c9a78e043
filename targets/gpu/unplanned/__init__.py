# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of operations without a plan: a thread, a team of threads or a block for each point, row or part."""
