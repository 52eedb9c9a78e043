# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Implementations of intrinsics that differ from other devices."""
