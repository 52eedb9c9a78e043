# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of relax-reduce: options, interestingness test, edits, and search."""
