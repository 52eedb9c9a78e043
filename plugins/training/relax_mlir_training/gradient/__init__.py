# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reverse-mode automatic differentiation of relax operators: from a tensor back to the tensors that it depends on."""
