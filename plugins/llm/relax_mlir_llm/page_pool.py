# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of keys and values: free list and reference counts. Sequences with the same text share pages."""

from __future__ import annotations

from .radix import PrefixCache


class PagePool:
    """Users of an engine's pages. A page is free, in use by one or more sequences, or only in the prefix cache."""

    def __init__(self, count: int, cache: PrefixCache | None = None) -> None:
        self.count = count
        self.cache = cache
        self._free = list(range(count - 1, -1, -1))
        self._users = [0] * count

    @property
    def free(self) -> int:
        """Number of empty pages."""
        return len(self._free)

    @property
    def cached(self) -> int:
        """Number of pages that only the prefix cache has."""
        return 0 if self.cache is None else self.cache.idle

    @property
    def available(self) -> int:
        """Number of pages that `allocate` can return."""
        return self.free + self.cached

    def users(self, page: int) -> int:
        """Return the number of users of a page."""
        return self._users[page]

    def allocate(self) -> int | None:
        """Return a page with one user, from the prefix cache if no page is empty, or None."""
        page = self._free.pop() if self._free else None if self.cache is None else self.cache.evict()
        if page is not None:
            self._users[page] = 1
        return page

    def share(self, page: int) -> int:
        """Return the page, with one more user."""
        if not self._users[page] and self.cache is not None:
            self.cache.use(page)
        self._users[page] += 1
        return page

    def release(self, page: int) -> None:
        """Take one user away from a page. A page without users is free, or stays in the prefix cache."""
        assert self._users[page] > 0, f"page {page} has no user"
        self._users[page] -= 1
        if self._users[page]:
            return
        if self.cache is not None and page in self.cache:
            self.cache.leave(page)
        else:
            self._free.append(page)

    def is_writable(self, page: int) -> bool:
        """Return True if nobody else sees what a sequence writes to its page."""
        return self._users[page] == 1 and (self.cache is None or page not in self.cache)
