# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code emission for the bodies of tensor programs: scalars, tensors, memrefs, loops, structured operations."""
