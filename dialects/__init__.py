# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialects of relax-mlir."""
