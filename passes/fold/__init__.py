# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a graph depends on constants alone, and what it is."""
