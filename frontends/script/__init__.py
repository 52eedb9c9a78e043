# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of TVMScript modules: Python syntax for graphs and tensor programs, parsed and never executed."""
