# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which operations of host code become a kernel together, and how they are taken out."""
