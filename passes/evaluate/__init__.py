# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile-time evaluation of operators on known elements: rules by operator, and their arguments."""
