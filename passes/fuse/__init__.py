# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several calls of PrimFuncs as one: which belong together, and the PrimFunc that does the work of all of them."""
