# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where functions are written, for tables of what is registered and for messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def place_of(function: Callable[..., Any]) -> str:
    """`folder/file.py:line` of a function, without its decorators; its module where it has no code of its own."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return getattr(function, "__module__", "?")
    path = Path(code.co_filename)
    return f"{path.parent.name}/{path.name}:{code.co_firstlineno}"
