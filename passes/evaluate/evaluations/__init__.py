# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules of this project's operators, a file for each family."""
