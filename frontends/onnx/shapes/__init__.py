# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on shapes: static elements and sizes, which are known at import, and dynamic ones."""
