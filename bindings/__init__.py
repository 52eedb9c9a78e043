# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access to the MLIR wheel. No other package imports the wheel."""
