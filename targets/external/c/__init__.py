# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `c`: parts as C, compiled by the system's compiler."""
