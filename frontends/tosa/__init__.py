# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules in upstream's tosa dialect as modules of relax."""
