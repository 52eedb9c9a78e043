# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of what has no plan: a thread, a team of threads or a block for each point, row or part."""
