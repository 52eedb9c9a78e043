# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which parts of a model an external codegen takes, and how they become functions of their own."""
