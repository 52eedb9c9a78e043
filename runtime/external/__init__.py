# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtimes of this project's own codegens: one module each, imported when an artifact has a part of it."""
