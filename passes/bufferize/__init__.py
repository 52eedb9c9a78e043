# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tir-bufferize does beside upstream's bufferization: tensors written piece by piece, memory given back."""
