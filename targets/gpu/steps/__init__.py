# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU kernels as schedule steps: the same blocks of threads, tiles and copies."""
