# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of relax-lsp: what a text alone says, what MLIR says of it in another process, the server."""
