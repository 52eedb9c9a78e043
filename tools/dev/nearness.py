# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How near a text is to others: by the words that they share, where rare words count more than common ones."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_NAME = re.compile(r"[A-Za-z]+(?:_[A-Za-z0-9]+)*[0-9]*")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SHORTEST_NAME, _SHORTEST_PART = 3, 4


@cache
def words_of(text: str) -> frozenset[str]:
    """Names as they are written, and what they are put together from: `GroupNormalization`, `group_norm`, `group`."""
    found: set[str] = set()
    for name in set(_NAME.findall(text)):
        found.add(name.lower())
        parts = [part.lower() for part in _PART.findall(name)]
        found.update(part for part in parts if len(part) >= _SHORTEST_PART)
    return frozenset(word for word in found if len(word) >= _SHORTEST_NAME)


class Nearness(Generic[Key]):
    """Of texts, each under a key, to any other text."""

    def __init__(self, texts: Mapping[Key, str]):
        self._words = {key: words_of(text) for key, text in texts.items()}
        having = Counter(word for words in self._words.values() for word in words)
        self._rarity = {word: math.log(len(self._words) / count) ** 2 for word, count in having.items()}
        self._lengths = {key: math.sqrt(1 + self._sum(words)) for key, words in self._words.items()}

    def of(self, key: Key, *others: str) -> float:
        """To all of the other texts together: what several of them have counts as often."""
        words = self._words[key]
        return sum(self._sum(words & words_of(other)) for other in others) / self._lengths[key]

    def _sum(self, words: frozenset[str]) -> float:
        return sum(self._rarity[word] for word in sorted(words))
