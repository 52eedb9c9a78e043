# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of garbage collection after work that makes many objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.support.collector import uncollected


@contextmanager
def looks() -> Iterator[list[str]]:
    """Yield the list of the collector's runs inside of the context."""
    seen: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


def test_nothing_is_collected_inside_and_what_is_there_is_looked_at_behind() -> None:
    """Check that garbage that refers to large objects does not live as long as permanent objects."""
    gc.collect()
    with looks() as seen:
        with uncollected():
            kept = [[index] for index in range(20_000)]
            assert not seen
        more = [[index] for index in range(100)]
    assert seen and len(kept) > len(more)
    assert gc.isenabled()


def test_where_nothing_is_collected_nothing_begins_to_be() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
