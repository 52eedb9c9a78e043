# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow and sequences: scf operations around graphs, and the values that pass through them."""
