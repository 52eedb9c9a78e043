# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Readable C99 for people who must ship C: static memory, no library beyond mathematics."""
