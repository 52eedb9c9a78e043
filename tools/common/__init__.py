# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools share: command lines, the guard against crashes, expected diagnostics."""
