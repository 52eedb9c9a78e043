# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of host code to data that a browser reads."""
