# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a schedule can do to the loops and blocks of a PrimFunc: one file for each primitive, named after it."""
