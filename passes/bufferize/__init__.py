# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bufferization in addition to upstream's: tensors written piece by piece, deallocation."""
