# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Work in a few clean worker processes, which are reused."""
