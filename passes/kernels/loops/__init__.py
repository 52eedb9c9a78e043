# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs as trees of loops and blocks: read from IR, transformed by schedules, printed and written as IR."""
