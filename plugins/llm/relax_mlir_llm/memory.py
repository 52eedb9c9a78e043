# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of sequences: reuse of computed prefixes, copies before writes, sliding windows."""

from __future__ import annotations

from collections.abc import Iterable

from .engine import Engine
from .page_pool import PagePool
from .radix import PrefixCache
from .sequences import SequenceState


class PageTables:
    """Page tables of all sequences of an engine."""

    def __init__(self, engine: Engine, prefix_cache: bool, window: int | None, chunk: int) -> None:
        self._engine = engine
        self._size = engine.page_size
        self._window = window
        # Pages behind a window are given back, so no later sequence could use a whole prefix.
        self.cache = PrefixCache() if prefix_cache and window is None else None
        self.pages = PagePool(engine.page_count, self.cache)
        #: Most pages of a sequence that gives pages behind its window back.
        self._window_pages = None if window is None else (window + chunk) // self._size + 2

    @property
    def capacity(self) -> int:
        """Most tokens of one sequence."""
        if self._window_pages is not None and self._window_pages <= self.pages.count:
            return self._engine.context
        return min(self._engine.context, self._size * self.pages.count)

    def missing(self, sequence: SequenceState) -> int:
        """Return how many pages the tokens of a sequence still need."""
        pages = -(-len(sequence.tokens) // self._size)
        if self._window_pages is not None:
            pages = min(pages, sequence.pages.count(-1) + self._window_pages)
        return max(0, pages - len(sequence.pages))

    def reuse(self, sequence: SequenceState, others: Iterable[SequenceState]) -> int:
        """Give a sequence the pages of its next tokens that other sequences computed. Return the number of tokens."""
        size, last, before = self._size, sequence.reusable, sequence.computed
        if self.cache is None or not self.is_aligned(sequence):
            return 0
        node = sequence.node or self.cache.root(sequence.request.adapter)
        while sequence.computed + size <= last:
            found = self.cache.find(node, sequence.tokens[sequence.computed : sequence.computed + size])
            if found is None:
                return sequence.computed - before
            sequence.node = node = found
            sequence.pages.append(self.pages.share(found.page))
            sequence.cached_pages += 1
            sequence.computed += size
        self._fork(sequence, others)
        return sequence.computed - before

    def is_aligned(self, sequence: SequenceState) -> bool:
        """Return True if the next token of a sequence begins a page that the sequence does not have yet."""
        return sequence.computed == len(sequence.pages) * self._size

    def _fork(self, sequence: SequenceState, others: Iterable[SequenceState]) -> None:
        """Share the last page, which is not full, of another sequence with the same text. A write will copy the page.

        So several answers to one prompt compute the prompt once.
        """
        last, index = sequence.reusable, len(sequence.pages)
        if sequence.computed >= last:
            return
        for other in others:
            is_same = other is not sequence and other.request.adapter == sequence.request.adapter
            if is_same and other.computed >= last and other.tokens[:last] == sequence.tokens[:last]:
                sequence.pages.append(self.pages.share(other.pages[index]))
                sequence.computed = last
                return

    def will_reuse(self, sequence: SequenceState, others: Iterable[SequenceState]) -> bool:
        """Return True if a sequence can reuse its next page after others have computed the page."""
        if self.cache is None or not self.is_aligned(sequence):
            return False
        end, adapter = min(sequence.computed + self._size, sequence.reusable), sequence.request.adapter
        if end <= sequence.computed:
            return False
        same = (other for other in others if other.computed == sequence.computed and other.request.adapter == adapter)
        return any(other.tokens[:end] == sequence.tokens[:end] for other in same)

    def reserve(self, sequence: SequenceState, end: int) -> bool:
        """Give a sequence pages to write for the tokens after the computed ones. Return False if pages are missing."""
        for index in range(sequence.computed // self._size, -(-end // self._size)):
            page = sequence.pages[index] if index < len(sequence.pages) else None
            if page is not None and self.pages.is_writable(page):
                continue
            if (new := self.pages.allocate()) is None:
                return False
            if page is None:
                sequence.pages.append(new)
                continue
            self._engine.copy_page(page, new)
            sequence.pages[index] = new
            self.pages.release(page)
        return True

    def room(self, sequence: SequenceState) -> int:
        """Return how many tokens the pages of a sequence have room for, after its own tokens."""
        return max(len(sequence.pages) * self._size - len(sequence.tokens), 0)

    def keep(self, sequence: SequenceState) -> None:
        """Add full pages to the prefix cache, and give back pages that no later token sees."""
        if self.cache is None:
            self._leave_window(sequence)
            return
        for index in range(sequence.cached_pages, sequence.computed // self._size):
            node, own = sequence.node or self.cache.root(sequence.request.adapter), sequence.pages[index]
            tokens = sequence.tokens[index * self._size : (index + 1) * self._size]
            sequence.node = self.cache.insert(node, tokens, own)
            sequence.cached_pages += 1
            # A sequence with a page of the cache has the pages of all ancestors: eviction relies on this.
            if sequence.node.page != own:
                sequence.pages[index] = self.pages.share(sequence.node.page)
                self.pages.release(own)

    def _leave_window(self, sequence: SequenceState) -> None:
        """Give back pages that the next token does not see. A token sees `window` tokens, with itself."""
        if self._window is None:
            return
        for index in range(max(sequence.computed + 1 - self._window, 0) // self._size):
            if sequence.pages[index] >= 0:
                self.pages.release(sequence.pages[index])
                sequence.pages[index] = -1

    def release(self, sequence: SequenceState) -> None:
        """Give back the pages of a sequence, the last one first, as the prefix cache requires."""
        for page in reversed(sequence.pages):
            if page >= 0:
                self.pages.release(page)
        sequence.pages, sequence.node = [], None
        sequence.computed = sequence.cached_pages = 0
