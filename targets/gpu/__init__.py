# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU targets in common: mapping of loops to blocks of threads."""
