# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host code in MLIR that is the same in every program; see units.py for its units."""
