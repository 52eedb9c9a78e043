# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flat operator graphs of a part's functions, for codegens that convert parts to graphs of another library."""
