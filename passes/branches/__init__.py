# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of graphs that do not need each other, for threads to run at the same time."""
