# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The only place that knows the MLIR wheel."""
