# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs as loops around blocks, which schedules change: read from IR, shown, written as IR."""
