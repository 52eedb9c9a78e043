# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of ATen operators to relax, one file per family."""
