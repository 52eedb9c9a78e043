# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtimes of this project's own codegens, a module each. The loader imports one when an artifact has such a part."""
