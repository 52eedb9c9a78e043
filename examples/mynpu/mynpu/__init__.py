# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A user's own package: one operator and one pass, in plain Python, with nothing to build."""
