# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-run. They import the runtime, but no compiler code that needs MLIR."""
