# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The definitions, a file a family."""
