# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules in a compact form like TVMScript, for people to read: one way, there is no parser."""

from __future__ import annotations

from . import arithmetic, buffers, functions, loops, operators, structured  # noqa: F401  # their rules register
from .printer import print_script

__all__ = ["print_script"]
