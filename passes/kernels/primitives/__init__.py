# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitives with which a schedule transforms the loops and blocks of a PrimFunc: one file each, named after it."""
