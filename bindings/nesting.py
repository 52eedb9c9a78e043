# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nesting check that protects MLIR's recursive parser from exhausting the stack, which would crash the process."""

from __future__ import annotations

import re

from ..support.errors import RelaxError

# MLIR's parser crashed between 2,000 and 5,000 nested regions on the usual 8 MB stack.
MOST_NESTING = 1000

_BRACKETS = b"(){}[]<>"
_OTHERS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
# Strings and comments can contain unbalanced brackets, and `->` and `>=` are not brackets.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|>=|[({\[<]+|[)}\]>]+')


def check_nesting(text: str, name: str) -> None:
    """Raise RelaxError if brackets nest deeper than MLIR's parser supports."""
    if not _is_shallow(text):
        _check_exactly(text, name)


def _is_shallow(text: str, levels: int = 64) -> bool:
    """Check quickly whether nesting is shallow by removing matching pairs, at 1 GB/s. Conclusive for nearly all IR."""
    brackets = text.encode("utf-8", "replace").replace(b"->", b"").translate(None, _OTHERS)
    for _ in range(levels):
        if len(brackets) <= MOST_NESTING:
            return True
        peeled = brackets
        for pair in (b"()", b"{}", b"[]", b"<>"):
            peeled = peeled.replace(pair, b"")
        if len(peeled) == len(brackets):
            return False
        brackets = peeled
    return False


def _check_exactly(text: str, name: str) -> None:
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token[0] in "({[<":
            depth += len(token)
        elif token[0] in ")}]>" and token != ">=":
            depth = max(depth - len(token), 0)
        if depth > MOST_NESTING:
            line = text.count("\n", 0, match.start()) + 1
            column = match.start() - text.rfind("\n", 0, match.start())
            raise RelaxError(f"nested more than {MOST_NESTING} levels deep", location=f"{name}:{line}:{column}")
