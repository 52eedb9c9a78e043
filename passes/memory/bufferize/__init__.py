# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Additions to upstream's bufferization: tensors written piece by piece, and deallocation."""
