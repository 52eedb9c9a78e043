# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes on PrimFuncs: fusion, plans, schedules, loops, indices and intrinsics."""
