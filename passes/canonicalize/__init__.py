# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonicalization patterns of relax-canonicalize, a file a family. Each file ends with the table of its patterns."""
