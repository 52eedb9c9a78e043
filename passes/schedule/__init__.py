# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of PrimFuncs, by what kind of function they are and for which target."""
