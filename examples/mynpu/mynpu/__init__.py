# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""User package with one operator and one pass, in plain Python, with nothing to build."""
