# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of TOSA's operators, one file per family."""
