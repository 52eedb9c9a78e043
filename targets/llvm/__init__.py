# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target llvm (target.py) and its rules."""
