# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""oneDNN: its C API through ctypes, and parts of programs as lists of its primitives."""
