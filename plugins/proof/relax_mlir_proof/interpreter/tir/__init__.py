# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference functions of tir's scalar functions in NumPy, one file per family, named as in dialects/tir."""

from relax_mlir.dialects import tir  # noqa: F401  # importing a dialect registers it
