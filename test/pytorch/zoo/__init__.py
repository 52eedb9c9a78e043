# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model architectures in small configurations with random weights, by library."""
