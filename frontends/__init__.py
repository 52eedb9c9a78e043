# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in: each front end turns a format into graphs of relax operators."""
