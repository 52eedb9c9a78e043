# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target llvm (target.py) and its rules."""
