# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of ATen's overloads to relax's operators, one file a family."""
