# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that programs call SciPy's LAPACK by, for matrices of complex numbers."""

from __future__ import annotations

#: Packed functions: options as numbers and matrices as pairs of real numbers give an array of results.
PREFIX = "relax_mlir.lapack."
NEEDS = "it calls LAPACK for complex numbers, which needs SciPy: pip install 'relax-mlir[scipy]'"
