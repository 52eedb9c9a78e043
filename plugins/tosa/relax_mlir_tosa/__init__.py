# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of modules in upstream's tosa dialect."""
