# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `c`: parts as C sources, compiled by the system's compiler."""
