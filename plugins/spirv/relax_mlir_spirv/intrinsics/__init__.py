# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowerings of TIR intrinsics for SPIR-V's targets, in addition to llvm's polynomials."""
