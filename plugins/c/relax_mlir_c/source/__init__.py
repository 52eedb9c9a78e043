# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C text of a lowered module: expressions, statements, functions, files."""
