# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GPU's kernels do as steps of schedules: the same blocks of threads, tiles and copies."""
