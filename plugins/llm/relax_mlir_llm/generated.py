# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of an answer as it is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

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
        """Yield the text of tokens up to the first of `stops`. Text that may begin one of them waits for more."""
        waiting = ""
        for token in tokens:
            self.tokens.append(token)
            waiting += stream.add(token)
            end = min((waiting.find(each) for each in stops if each in waiting), default=-1)
            if end >= 0:
                if end:
                    yield waiting[:end]
                return
            count = len(waiting) - _begun(waiting, stops)
            if count:
                yield waiting[:count]
                waiting = waiting[count:]
        waiting += stream.end()
        if waiting:
            yield waiting


def _begun(text: str, stops: Sequence[str]) -> int:
    """Return the length of the longest end of a text that begins one of `stops`."""
    lengths = (size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size]))
    return max(lengths, default=0)
