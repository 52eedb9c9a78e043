# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What SPIR-V's targets say of tir's intrinsics beside llvm's polynomials."""
