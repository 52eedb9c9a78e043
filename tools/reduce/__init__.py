# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of relax-reduce: its options, the command that decides, what can be made smaller, the search."""
