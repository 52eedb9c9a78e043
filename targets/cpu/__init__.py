# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target cpu (target.py) and its rules."""
