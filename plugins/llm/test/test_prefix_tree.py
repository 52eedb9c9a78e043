# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Radix tree and reference counts of pages: the cases of mlc-llm's test_radix_tree.py, in pages."""

from __future__ import annotations

import random

import pytest
from relax_mlir_llm.page_pool import PagePool
from relax_mlir_llm.radix import PrefixCache

SIZE = 2


def hold(pages: PagePool, tokens: list[int], adapter: str | None = None) -> list[int]:
    """Return the pages of a text, with one more user each. Pages that the tree lacks are allocated and inserted."""
    assert pages.cache is not None
    node, found = pages.cache.root(adapter), []
    for begin in range(0, len(tokens) // SIZE * SIZE, SIZE):
        key = tokens[begin : begin + SIZE]
        known = pages.cache.find(node, key)
        if known is None:
            page = pages.allocate()
            assert page is not None
            known = pages.cache.insert(node, key, page)
        else:
            pages.share(known.page)
        node = known
        found.append(node.page)
    return found


def leave(pages: PagePool, held: list[int]) -> None:
    for page in reversed(held):
        pages.release(page)


def matched(pages: PagePool, tokens: list[int], adapter: str | None = None) -> list[int]:
    """Return the pages that the tree has for a text, without using them."""
    assert pages.cache is not None
    node, found = pages.cache.root(adapter), []
    for begin in range(0, len(tokens) // SIZE * SIZE, SIZE):
        known = pages.cache.find(node, tokens[begin : begin + SIZE])
        if known is None:
            break
        node = known
        found.append(node.page)
    return found


def tree(count: int) -> PagePool:
    return PagePool(count, PrefixCache())


def test_add_and_match() -> None:
    pages = tree(8)
    held = hold(pages, [1, 2, 3, 4, 5])
    assert matched(pages, [1, 2, 3, 4, 9, 9]) == held and len(held) == 2
    assert matched(pages, [1, 2, 9, 4]) == held[:1]
    assert matched(pages, [2, 1]) == matched(pages, [1]) == []


def test_extend_and_fork_share_the_common_pages() -> None:
    pages = tree(8)
    first = hold(pages, [1, 2, 3, 4])
    longer = hold(pages, [1, 2, 3, 4, 5, 6])
    fork = hold(pages, [1, 2, 7, 8])
    assert longer[:2] == first and fork[:1] == first[:1] and fork[1] != first[1]
    assert [pages.users(page) for page in (first[0], first[1], longer[2], fork[1])] == [3, 2, 1, 1]
    assert pages.free == 4


def test_remove_keeps_pages_until_they_are_needed() -> None:
    pages = tree(3)
    held = hold(pages, [1, 2, 3, 4, 5, 6])
    leave(pages, held)
    assert (pages.free, pages.cached, pages.available) == (0, 3, 3)
    assert matched(pages, [1, 2, 3, 4, 5, 6]) == held
    assert pages.allocate() == held[2]
    assert matched(pages, [1, 2, 3, 4, 5, 6]) == held[:2]


def test_adapters_have_trees_of_their_own() -> None:
    pages = tree(4)
    plain, other = hold(pages, [1, 2]), hold(pages, [1, 2], "poet")
    assert plain != other
    assert (matched(pages, [1, 2]), matched(pages, [1, 2], "poet")) == (plain, other)


def test_insert_keeps_the_first_page_of_a_text() -> None:
    pages = tree(4)
    assert pages.cache is not None
    held = hold(pages, [1, 2])
    second = pages.allocate()
    assert second is not None
    assert pages.cache.insert(pages.cache.root(None), [1, 2], second).page == held[0]
    assert second not in pages.cache and not pages.is_writable(held[0]) and pages.is_writable(second)


def test_eviction_order_is_that_of_the_last_use() -> None:
    pages = tree(4)
    old, new = hold(pages, [1, 1, 2, 2]), hold(pages, [3, 3, 4, 4])
    leave(pages, old)
    leave(pages, new)
    leave(pages, hold(pages, [1, 1]))
    assert [pages.allocate() for _ in range(4)] == [old[1], new[1], new[0], old[0]]
    assert pages.allocate() is None


def test_a_page_without_users_is_not_released_again() -> None:
    pages = PagePool(2)
    page = pages.allocate()
    assert page is not None
    pages.release(page)
    with pytest.raises(AssertionError, match=f"page {page} has no user"):
        pages.release(page)


@pytest.mark.parametrize("seed", range(5))
def test_random_use_loses_no_page(seed: int) -> None:
    """Compare with a list of users. A text in use stays matched, and an evicted page is always a leaf without users."""
    draw = random.Random(seed)
    pages, users = tree(12), []
    for _ in range(400):
        text = [draw.randrange(2) for _ in range(2 * draw.randrange(1, 5))]
        if len(users) < 3 and draw.random() < 0.6:
            users.append((text, hold(pages, text)))
        elif users:
            leave(pages, users.pop(draw.randrange(len(users)))[1])
        counts = [sum(page in held for _, held in users) for page in range(12)]
        assert [pages.users(page) for page in range(12)] == counts
        assert pages.available == counts.count(0)
        assert all(matched(pages, text) == held for text, held in users)
    for _, held in users:
        leave(pages, held)
    assert sorted(pages.allocate() for _ in range(12)) == list(range(12)) and pages.allocate() is None
