# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No classes for the LLVM dialect's operations: making upstream's takes longer than what few programs do with them.

Who wants `<root>.dialects.llvm` imports it; its classes are what operations are handed out as from then on.
"""
