# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of relax-run. They import the runtime, and nothing of the compiler that needs MLIR."""
