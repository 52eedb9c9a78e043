# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions of scalars, as rules and front ends write kernels of: Numbers in, a Number out, computed in f64."""
