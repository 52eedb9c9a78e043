# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of kernels: how blocks and threads share their work."""
