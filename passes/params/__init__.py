# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changing what graph functions take: parameters that become constants, sizes that become numbers, other orders."""
