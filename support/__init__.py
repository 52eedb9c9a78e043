# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Utilities independent of MLIR: errors, source locations, plug-ins, processes, files."""
