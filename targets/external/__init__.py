# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""External codegens that are part of this project. Each has a folder."""
