# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes that turn graph functions over memrefs into externally callable functions."""
