# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target default (target.py) and its rules."""
