# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions of scalars for kernels of rules and front ends: from Numbers to a Number, computed in f64."""
