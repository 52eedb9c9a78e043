# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference functions of relax operators in NumPy, one file per family, written for reading."""
