# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes as quantizers of torchao."""
