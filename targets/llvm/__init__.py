# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target llvm: what it is stands in target.py, its rules beside it."""
