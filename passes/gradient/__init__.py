# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of relax operators, and reverse mode: from a tensor back to those that it depends on."""
