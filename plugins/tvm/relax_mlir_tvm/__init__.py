# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitives of `tvm.tir.Schedule` that no rule of the compiler needs, and the import of TVM's modules."""
