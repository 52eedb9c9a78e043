# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dense linear algebra by kernels: factorizations, systems of equations, eigenvalues and singular values."""
