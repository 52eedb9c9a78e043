# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proof that code is correct: the reference interpreter, conformance tests, relax-check, relax-bisect, relax-reduce."""
