# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of modules in the stablehlo and chlo dialects, as jax and other frameworks export them."""
