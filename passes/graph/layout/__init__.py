# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor layouts in the graph: rules of operators, layout assignment, and conversions."""
