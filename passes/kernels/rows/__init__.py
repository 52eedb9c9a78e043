# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop fusion by rows: operations of a PrimFunc that iterate over the same rows, executed together for some rows at a
time.
"""
