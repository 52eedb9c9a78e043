# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of loops: tiling, vectorization and parallelism of PrimFuncs, by kind of function and target."""
