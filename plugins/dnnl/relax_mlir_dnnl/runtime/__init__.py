# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtime of the codegen `dnnl`: oneDNN's C API through ctypes, and parts as lists of primitives."""
