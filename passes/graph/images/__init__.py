# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Subgraphs that process each image of a batch independently."""
