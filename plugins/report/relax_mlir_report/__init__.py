# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HTML report of a compilation: journal entries of passes, and measurements of a profile, in one file."""
