# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of this project's operators, with a file for each family."""
