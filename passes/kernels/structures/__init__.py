# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structural matching of PrimFuncs: canonical forms of bodies, compared with structures that users write."""
