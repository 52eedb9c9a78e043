# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators do in other layouts, a file for each family of operators."""
