# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code shared by the GPU targets: mapping of loops to blocks of threads."""
