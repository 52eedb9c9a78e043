# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes for quantization: types and scales of operands, by a codegen's own patterns."""
