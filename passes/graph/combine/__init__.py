# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Horizontal fusion: operations on the same operand are combined into one."""
