# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of operators, one file per family."""
