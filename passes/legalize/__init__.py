# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legalization of relax operators to PrimFuncs: targets, rules per target, and the interface of rules."""
