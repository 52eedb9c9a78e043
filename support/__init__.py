# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What knows nothing of MLIR: errors, places in Python code, plug-ins, processes, files."""
