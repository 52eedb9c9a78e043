# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout rules, one file per family of operators."""
