# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of operators into simpler ones."""
