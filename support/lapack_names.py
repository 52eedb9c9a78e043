# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names by which programs call SciPy's LAPACK for complex matrices."""

from __future__ import annotations

#: Prefix of packed functions: they take numeric options and matrices as pairs of real numbers, and return an array.
PREFIX = "relax_mlir.lapack."
NEEDS = "it calls LAPACK for complex numbers, which needs SciPy: pip install 'relax-mlir[scipy]'"
