# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all GPUs have in common: how loops become blocks of threads."""
