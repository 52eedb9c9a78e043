# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target cpu: what it is stands in target.py, its rules beside it."""
