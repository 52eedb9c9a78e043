# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of relax-compile: its options, its way from a file to a file, what it reports meanwhile."""
