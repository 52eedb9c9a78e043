# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor expressions with the names of `tvm.te`: each element of a tensor is a function of its index."""
