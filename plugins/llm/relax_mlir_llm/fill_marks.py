# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens of models that fill in a gap between two texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

#: Names of the tokens before a gap, after it, and in it: StarCoder, SantaCoder, Qwen and CodeGemma, Code Llama, GLM,
#: DeepSeek.
_NAMES = (
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"),
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    ("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
)
#: Names of tokens that end the filled text: padding, and the begins of other files and projects.
_ENDS = ("<fim_pad>", "<fim-pad>", "<|fim_pad|>", "\u2581<EOT>", "<file_sep>", "<|file_sep|>", "<|file_separator|>")


class FillMarks(NamedTuple):
    """Tokens in front of the text before a gap, of the text after the gap, and of the text in the gap."""

    before: int
    after: int
    middle: int
    #: Tokens that end the text in the gap.
    ends: tuple[int, ...] = ()


def find_fill_marks(token: Callable[[str], int | None]) -> FillMarks | None:
    """Return the tokens of a model, which `token` finds by their names. None: the model fills in no gaps."""
    ends = tuple(outputs for name in _ENDS if (outputs := token(name)) is not None)
    for names in _NAMES:
        before, after, middle = map(token, names)
        if before is not None and after is not None and middle is not None:
            return FillMarks(before, after, middle, ends)
    return None
