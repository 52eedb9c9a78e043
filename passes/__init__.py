# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes of relax-mlir, one a file."""
