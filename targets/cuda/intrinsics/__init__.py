# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsic functions on NVIDIA's GPUs."""
