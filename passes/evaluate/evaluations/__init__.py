# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations of this project's operators, one file per family."""
