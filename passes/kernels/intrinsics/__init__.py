# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of tensor program intrinsics to a target's operations: rules per target, and helpers of rules."""
