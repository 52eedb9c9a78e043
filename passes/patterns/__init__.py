# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a part of a graph looks like: patterns as immutable trees, where they match, and rewriting by them."""
