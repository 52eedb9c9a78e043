# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of relax-opt: its options, what it lists, how it survives crashes."""
