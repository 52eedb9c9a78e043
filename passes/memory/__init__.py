# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes that place values in memory: bufferization, arenas, donated arguments and calls."""
