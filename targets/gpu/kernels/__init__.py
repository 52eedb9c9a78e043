# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Selection of the operations of host code that form kernels, and their outlining."""
