# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor expressions, with the words of `tvm.te`: what each element of a tensor is, as a function of its place."""
