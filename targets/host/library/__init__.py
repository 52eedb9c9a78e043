# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host code that is the same in every program, in MLIR: units.py says what the units are."""
