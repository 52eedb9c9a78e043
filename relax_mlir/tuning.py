# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a program, their plans, and tuned plans in files: what a search for faster plans needs."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
