# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes from graph functions over memrefs to functions that can be called from outside."""
