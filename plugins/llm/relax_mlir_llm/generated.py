# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of an answer as it is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .stop_texts import StopTexts

if TYPE_CHECKING:
    from .tokenizer import TextStream


class Generated(Iterator[str]):
    """Iterator over the text of an answer. Its attributes tell what was computed so far."""

    def __init__(self, prompt: Sequence[int], tokens: Iterator[int], stream: TextStream, stops: Sequence[str]) -> None:
        #: Tokens of the prompt, and of the answer so far.
        self.prompt: tuple[int, ...] = tuple(prompt)
        self.tokens: list[int] = []
        self._texts = self._pieces(tokens, stream, stops)

    def __next__(self) -> str:
        return next(self._texts)

    def _pieces(self, tokens: Iterator[int], stream: TextStream, stops: Sequence[str]) -> Iterator[str]:
        """Yield the text of tokens up to the first of `stops`."""
        search = StopTexts(stops)
        for token in tokens:
            self.tokens.append(token)
            if text := search.add(stream.add(token)):
                yield text
            if search.is_stopped:
                return
        rest = search.add(stream.end())
        if rest := rest + ("" if search.is_stopped else search.end()):
            yield rest
