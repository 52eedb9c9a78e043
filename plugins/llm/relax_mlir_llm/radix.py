# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prefix cache: a radix tree. An edge has the tokens of one full page, its node has the page with keys and values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


class CachedPage:
    """Page of the tree. The path from the root has the text that the page's keys and values depend on."""

    __slots__ = ("children", "key", "page", "parent")

    def __init__(self, parent: CachedPage | None, key: tuple[int, ...], page: int) -> None:
        self.parent = parent
        self.key = key
        self.page = page
        self.children: dict[tuple[int, ...], CachedPage] = {}


class PrefixCache:
    """Radix tree of pages. Pages without users stay until their memory is needed: the least recently used goes first.

    A user of a page also uses the pages of all ancestors and releases the deepest page first. So the first page of
    `_idle` is always a leaf.
    """

    def __init__(self) -> None:
        self._roots: dict[str | None, CachedPage] = {}
        self._nodes: dict[int, CachedPage] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, page: int) -> bool:
        return page in self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def idle(self) -> int:
        """Number of pages without users."""
        return len(self._idle)

    def root(self, adapter: str | None) -> CachedPage:
        """Return the root of all texts of an adapter. Another adapter computes other keys and values."""
        return self._roots.setdefault(adapter, CachedPage(None, (), -1))

    def find(self, node: CachedPage, tokens: Sequence[int]) -> CachedPage | None:
        """Return the node of a page's tokens below a node, or None."""
        return node.children.get(tuple(tokens))

    def insert(self, node: CachedPage, tokens: Sequence[int], page: int) -> CachedPage:
        """Return the node of a page's tokens below a node. Without such a node, add one with the caller's page."""
        key = tuple(tokens)
        if (found := node.children.get(key)) is None:
            found = node.children[key] = self._nodes[page] = CachedPage(node, key, page)
        return found

    def use(self, page: int) -> None:
        """Note that a page without users has a user again."""
        del self._idle[page]

    def leave(self, page: int) -> None:
        """Note that a page has no users any more."""
        self._idle[page] = None

    def evict(self) -> int | None:
        """Remove the least recently used page without users from the tree. Return the page, or None."""
        if not self._idle:
            return None
        page, _ = self._idle.popitem(last=False)
        node = self._nodes.pop(page)
        assert node.parent is not None and not node.children
        del node.parent.children[node.key]
        return page
