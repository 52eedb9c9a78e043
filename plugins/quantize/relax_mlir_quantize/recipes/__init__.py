# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes by the name of a codegen or a target, and from files of other quantizers."""
