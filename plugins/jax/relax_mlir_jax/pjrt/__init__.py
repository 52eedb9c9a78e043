# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX platform `relax`: PJRT's table of C functions, implemented in Python without a build step."""
