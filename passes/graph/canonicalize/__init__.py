# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonicalization patterns of relax-canonicalize, one file per family. Each file ends with its table of patterns."""
