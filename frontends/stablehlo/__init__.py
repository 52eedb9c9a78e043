# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules in the stablehlo and chlo dialects, as jax and others export them, as modules of relax."""
