# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""This project's own external codegens, a folder each."""
