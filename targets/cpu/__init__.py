# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target cpu (target.py) and its rules."""
