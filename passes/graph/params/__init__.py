# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes to parameters of graph functions: constants for parameters, numbers for sizes, other orders."""
