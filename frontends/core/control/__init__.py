# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow and sequences: scf's operations around graphs, and what goes through them."""
