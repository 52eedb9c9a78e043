# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How intrinsics of tensor programs become what a target has: rules per target, and what rules build with."""
