# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of TVM's paged cache of keys and values on CPUs, with pages as arrays and a table of pages.

The numbers of tokens come from TVM's test_runtime_builtin_paged_attention_kv_cache_cpu.py. Sliding windows with first
tokens that stay, and trees of tokens, have pages of one place: a table then lists any tokens. The oracle is attention
in numpy's doubles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pytest

import relax_mlir as rx
from relax_mlir import relax

HEADS, SHARED = 8, 2
#: Numbers of pages, by the number of places in a page.
PAGES = {1: 600, 16: 120}


class Cache:
    """Sequences that share pages. A call that writes to a shared page copies it first."""

    def __init__(self, program: rx.runtime.Executable, places: int, size: int, dtype: str) -> None:
        self._main, self._random = program["main"], numpy.random.default_rng(size)
        self._places, self._size, self._dtype = places, size, dtype
        self.arrays = [numpy.zeros((PAGES[places], places, SHARED, size), dtype) for _ in "kv"]
        self._users: Counter[int] = Counter()
        #: Pages and number of tokens of each sequence, and its keys and values [tokens, heads, size].
        self._pages: dict[int, list[int]] = {}
        self._lengths: dict[int, int] = {}
        self._rows: dict[int, list[numpy.ndarray]] = {}

    @property
    def used(self) -> int:
        """Return the number of pages in use."""
        return sum(count > 0 for count in self._users.values())

    def run(self, *batch: tuple[int, int]) -> None:
        """Append tokens to sequences, each by its number, and check the attention of the new tokens."""
        self.run_trees({sequence: (list(range(-1, count - 1)), count) for sequence, count in batch})

    def run_trees(self, batch: Mapping[int, tuple[Sequence[int], int]]) -> None:
        """Append the last tokens of trees to sequences, and check the attention of the new tokens.

        A tree lists the parent of each token, -1 for the end of the sequence. The other tokens of a tree are the last
        ones of the sequence.
        """
        tokens = sum(count for _, count in batch.values())
        shapes = ((tokens, heads, self._size) for heads in (HEADS, SHARED, SHARED))
        q, k, v = (self._random.standard_normal(shape).astype(self._dtype) for shape in shapes)
        slots: list[int] = []
        paths: list[tuple[int, list[int]]] = []
        for sequence, (parents, count) in batch.items():
            first = self._lengths.get(sequence, 0) - (len(parents) - count)
            new = slice(len(slots), len(slots) + count)
            slots += self._append(sequence, count)
            self._keep(sequence, k[new], v[new])
            for node in range(len(parents) - count, len(parents)):
                paths.append((sequence, [*range(first), *(first + each for each in _path(parents, node))]))
        found = self._call(q, k, v, slots, paths)
        for token, (sequence, path) in enumerate(paths):
            keys, values = (each[path].astype(float) for each in self._rows[sequence])
            expected = _attention(q[token].astype(float), keys, values)
            numpy.testing.assert_allclose(found[token], expected, rtol=2e-3, atol=1e-3)

    def accept(self, sequence: int, parents: Sequence[int], leaf: int) -> None:
        """Keep the tokens on the path to a leaf of a tree at the end of a sequence."""
        first = self._lengths[sequence] - len(parents)
        self._select(sequence, [*range(first), *(first + each for each in _path(parents, leaf))])

    def slide(self, sequence: int, window: int, first: int) -> None:
        """Keep the first tokens and the latest ones, as many as the window in all."""
        length = self._lengths[sequence]
        if length > window:
            self._select(sequence, [*range(first), *range(length - window + first, length)])

    def fork(self, parent: int, child: int, length: int = -1) -> None:
        """Begin a sequence with the first tokens of another one, or with all."""
        length = self._lengths[parent] if length < 0 else length
        self._pages[child] = self._pages[parent][: -(-length // self._places)]
        self._users.update(self._pages[child])
        self._lengths[child] = length
        self._rows[child] = [each[:length] for each in self._rows[parent]]

    def pop(self, sequence: int, count: int) -> None:
        """Remove the last tokens of a sequence."""
        length = self._lengths[sequence] - count
        pages = -(-length // self._places)
        self._users.subtract(self._pages[sequence][pages:])
        del self._pages[sequence][pages:]
        self._lengths[sequence] = length
        self._rows[sequence] = [each[:length] for each in self._rows[sequence]]

    def remove(self, sequence: int) -> None:
        """Remove a sequence, and check the keys and values of the others."""
        self.pop(sequence, self._lengths[sequence])
        for each in (self._pages, self._lengths, self._rows):
            del each[sequence]
        self.check()

    def check(self) -> None:
        """Compare the pages with the keys and values of all sequences."""
        for sequence, pages in self._pages.items():
            for array, rows in zip(self.arrays, self._rows[sequence], strict=True):
                numpy.testing.assert_array_equal(array[pages].reshape(-1, SHARED, self._size)[: len(rows)], rows)

    def _append(self, sequence: int, count: int) -> list[int]:
        """Return slots for new tokens of a sequence."""
        pages = self._pages.setdefault(sequence, [])
        length = self._lengths.setdefault(sequence, 0)
        if length % self._places and self._users[pages[-1]] > 1:
            self._users[pages[-1]] -= 1
            copy = self._free()
            for each in self.arrays:
                each[copy] = each[pages[-1]]
            pages[-1] = copy
        while len(pages) * self._places < length + count:
            pages.append(self._free())
        self._lengths[sequence] = length + count
        positions = range(length, length + count)
        return [pages[at // self._places] * self._places + at % self._places for at in positions]

    def _free(self) -> int:
        """Return a page that no sequence uses, which has one user now."""
        page = next(each for each in self._random.permutation(len(self.arrays[0])).tolist() if not self._users[each])
        self._users[page] = 1
        return int(page)

    def _keep(self, sequence: int, *new: numpy.ndarray) -> None:
        rows = self._rows.get(sequence, [each[:0] for each in new])
        self._rows[sequence] = [numpy.concatenate(pair) for pair in zip(rows, new, strict=True)]

    def _select(self, sequence: int, tokens: list[int]) -> None:
        """Keep some tokens of a sequence with pages of one place."""
        kept = [self._pages[sequence][each] for each in tokens]
        self._users.subtract(set(self._pages[sequence]) - set(kept))
        self._pages[sequence], self._lengths[sequence] = kept, len(kept)
        self._rows[sequence] = [each[tokens] for each in self._rows[sequence]]

    def _call(self, q: Any, k: Any, v: Any, slots: Sequence[int], paths: Sequence[tuple[int, list[int]]]) -> Any:
        """Call the program. A path is a sequence, and the tokens of it that a new token sees."""
        rows = [self._pages[sequence] for sequence, _ in paths]
        if self._places == 1:
            rows = [[pages[each] for each in path] for pages, (_, path) in zip(rows, paths, strict=True)]
        table = numpy.zeros((len(rows), max(map(len, rows))), "int32")
        for row, pages in zip(table, rows, strict=True):
            row[: len(pages)] = pages
        sequences = numpy.arange(len(rows), dtype="int32")
        lengths = numpy.array([len(path) for _, path in paths], "int32")
        return self._main(q, k, v, numpy.array(slots, "int32"), table, sequences, lengths, *self.arrays)


def _path(parents: Sequence[int], node: int) -> list[int]:
    """Return the tokens from the root of a tree to one of them."""
    return [] if node < 0 else [*_path(parents, parents[node]), node]


def _attention(q: numpy.ndarray, keys: numpy.ndarray, values: numpy.ndarray) -> numpy.ndarray:
    keys, values = (numpy.repeat(each, HEADS // SHARED, 1) for each in (keys, values))
    scores = numpy.einsum("hd,khd->hk", q, keys) * q.shape[-1] ** -0.5
    weights = numpy.exp(scores - scores.max(1, keepdims=True))
    found: numpy.ndarray = numpy.einsum("hk,khd->hd", weights / weights.sum(1, keepdims=True), values)
    return found


def _compiled(places: int, size: int, dtype: str) -> rx.runtime.Executable:
    module = rx.Module()
    heads = {"q": HEADS, "k": SHARED, "v": SHARED}
    rows = {name: rx.tensor(("tokens", count, size), dtype) for name, count in heads.items()}
    slots, table = rx.tensor(("tokens",), "int32"), rx.tensor(("rows", "most"), "int32")
    pages = {f"{name}_pages": rx.tensor(("pages", places, SHARED, size), dtype) for name in "kv"}
    types = {**rows, "slots": slots, "table": table, "sequences": slots, "lengths": slots, **pages}
    with module.function("main", types) as f:
        q, k, v, slot, pages_of, sequences, lengths, *old = f
        keys, values = (relax.append_pages(*pair, slot) for pair in zip(old, (k, v), strict=True))
        f.returns(relax.paged_attention(q, keys, values, pages_of, sequences, lengths), keys, values)
    return rx.compile(module, donate=["*_pages"])


@pytest.fixture(scope="module", params=[(64, "float32"), (128, "float16")], ids=str)
def kind(request: pytest.FixtureRequest) -> tuple[int, str]:
    """Return the size of a head, and the type of the pages."""
    found: tuple[int, str] = request.param
    return found


@pytest.fixture(scope="module")
def programs(kind: tuple[int, str]) -> dict[int, rx.runtime.Executable]:
    return {places: _compiled(places, *kind) for places in PAGES}


@pytest.fixture
def cache(programs: Mapping[int, rx.runtime.Executable], kind: tuple[int, str]) -> Cache:
    return Cache(programs[16], 16, *kind)


@pytest.fixture
def cache_of_tokens(programs: Mapping[int, rx.runtime.Executable], kind: tuple[int, str]) -> Cache:
    return Cache(programs[1], 1, *kind)


def test_prompts_and_single_tokens(cache: Cache) -> None:
    for sequence, count in ((0, 6), (1, 8), (2, 11), (3, 16)):
        cache.run((sequence, count))
    cache.run((4, 19), (5, 20))
    cache.run((6, 21), (7, 24))
    cache.run((2, 5), (4, 7), (8, 24))
    cache.run((6, 13))
    cache.run((8, 19))
    cache.run((0, 1))
    cache.run((1, 3), (3, 8), (5, 12), (7, 11))
    for some in (range(9), range(9), range(0, 9, 2), range(4, 9)):
        cache.run(*((sequence, 1) for sequence in some))
    cache.check()


def test_removed_sequences(cache: Cache) -> None:
    for removed in range(5):
        cache.run(*((sequence, 1) for sequence in range(5)))
        cache.remove(removed)
    assert cache.used


def test_forks(cache: Cache) -> None:
    def forked(*forks: tuple[int, int, int, int]) -> None:
        for child, parent, length, _ in forks:
            cache.fork(parent, child, length)
        cache.run(*((child, count) for child, _, _, count in forks))

    cache.run((0, 60), (1, 88), (2, 17), (3, 4))
    for fork in ((4, 3, -1, 35), (5, 0, -1, 20), (6, 5, -1, 102), (7, 0, -1, 3)):
        forked(fork)
    forked((8, 5, -1, 71), (9, 5, -1, 20))
    for some in ((2, 4, 7, 6, 8, 9), (7, 6, 8, 9), (7, 1, 6, 2, 8, 4, 9)):
        cache.run(*((sequence, 1) for sequence in some))
    cache.run((7, 10), (6, 2), (8, 3), (9, 4))
    forked((10, 1, 33, 11))
    forked((11, 0, 60, 45), (12, 0, 15, 14))
    forked((13, 0, 16, 19), (14, 0, 17, 19))
    forked((15, 5, 60, 8), (16, 5, 80, 10))
    forked((17, 5, 75, 11), (18, 5, 76, 45), (19, 5, 77, 14))
    for some in ((6, 11, 13, 9), (10, 16, 18, 19), (8, 15, 17, 12, 14)):
        cache.run(*((sequence, 1) for sequence in some))
    cache.run((10, 10), (6, 2), (8, 3), (19, 4))
    for sequence in range(20):
        cache.remove(sequence)
    assert not cache.used
    cache.run((0, 7), (1, 24))
    forked((2, 1, -1, 10))
    forked((3, 0, -1, 20))
    cache.run((2, 1), (3, 1))
    cache.run((10, 7), (11, 24))
    forked((12, 11, -1, 200))
    cache.run((10, 1), (12, 1))
    cache.check()


def test_forks_of_any_depth(cache: Cache) -> None:
    cache.run((0, 30))
    forks = ((1, 0, 15), (2, 1, 5), (3, 2, 20), (4, 3, 26), (5, 3, 18), (6, 5, 22), (7, 5, 12), (8, 7, 29), (9, 7, 9))
    for child, parent, count in (*forks, (10, 9, 31), (11, 9, 4)):
        cache.fork(parent, child)
        cache.run((child, count))
    for some in ((3, 6, 9), (4, 8, 10), (5, 7, 11)):
        cache.run(*((sequence, 1) for sequence in some))
    for sequence in range(12):
        cache.remove(sequence)
    assert not cache.used


def test_popped_tokens(cache: Cache) -> None:
    cache.run((0, 35), (1, 88), (2, 17), (3, 4))
    cache.fork(3, 4)
    cache.run((4, 35))
    for sequence, count in ((0, 17), (1, 57), (2, 16), (3, 0), (4, 37)):
        cache.pop(sequence, count)
        cache.check()
    cache.run(*((sequence, 1) for sequence in range(5)))
    for sequence in range(5):
        cache.remove(sequence)
    assert not cache.used


def test_sliding_windows(cache_of_tokens: Cache) -> None:
    cache, limits = cache_of_tokens, ((20, 6), (25, 4), (30, 8), (35, 3), (40, 7))
    prompts = ([(0, 4)], [(1, 6)], [(2, 6), (3, 7), (4, 7)], [(0, 20), (1, 19), (2, 30), (3, 35), (4, 40)])
    more = ([(0, 6), (1, 5), (2, 4), (3, 3), (4, 2)], *([(each, 1) for each in range(5)] for _ in range(20)))
    for batch in (*prompts, *more):
        cache.run(*batch)
        for sequence, _ in batch:
            cache.slide(sequence, *limits[sequence])
        cache.check()
    assert cache.used == sum(window for window, _ in limits)


def test_forks_of_sliding_windows(cache_of_tokens: Cache) -> None:
    cache, limits = cache_of_tokens, {0: (30, 15), 1: (35, 20), 2: (40, 25), 6: (25, 24)}

    def run(*batch: tuple[int, int]) -> None:
        cache.run(*batch)
        for sequence, _ in batch:
            if sequence in limits:
                cache.slide(sequence, *limits[sequence])
        cache.check()

    run((0, 12), (1, 18), (2, 28))
    for child, parent, length in ((3, 0, 10), (4, 1, -1), (5, 2, 18)):
        cache.fork(parent, child, length)
    run((3, 8), (4, 20), (5, 18))
    run((0, 9), (1, 15), (2, 4), (3, 10), (4, 3), (5, 7))
    cache.fork(3, 6, 18)
    run((3, 10), (6, 12))


TREES = {
    "trees": [[-1, *((node - 1) // 2 for node in range(1, count))] for count in (7, 15)]
    + [list(range(-1, 9)), [-1, 0, 0, 1, 1, 2, 2, -1, 7, 7, 8, 8, 9, 9]],
    "chains": [list(range(-1, count - 1)) for count in (7, 15, 10, 14)],
}
LEAVES = {"trees": (6, 11, 6, 13), "chains": (2, 6, -1, 4)}


@pytest.mark.parametrize("name", TREES)
def test_trees_of_tokens(cache_of_tokens: Cache, name: str) -> None:
    cache = cache_of_tokens
    cache.run((0, 10), (1, 20), (2, 30), (3, 40))
    cache.run_trees({sequence: (parents, len(parents)) for sequence, parents in enumerate(TREES[name])})
    for sequence, (parents, leaf) in enumerate(zip(TREES[name], LEAVES[name], strict=True)):
        cache.accept(sequence, parents, leaf)
    for _ in range(5):
        cache.run(*((sequence, 1) for sequence in range(4)))
    cache.check()


def test_trees_that_grow(cache_of_tokens: Cache) -> None:
    cache, parents = cache_of_tokens, list[int]()
    cache.run((0, 10), (1, 20), (2, 30), (3, 40))
    for level in range(5):
        parents = [(node - 1) // 2 for node in range(2 ** (level + 1) - 1)]
        cache.run_trees({sequence: (parents, 2**level) for sequence in range(4)})
    for sequence, leaf in enumerate((2, 6, -1, 4)):
        cache.accept(sequence, parents, leaf)
    cache.run(*((sequence, 1) for sequence in range(4)))
    cache.check()
