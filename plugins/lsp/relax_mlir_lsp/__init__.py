# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-lsp: analysis of text, analysis by MLIR in another process, and the server."""
