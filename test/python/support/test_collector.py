# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When garbage is looked for after work that makes many objects."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from relax_mlir.support.collector import uncollected


@contextmanager
def looks() -> Iterator[list[str]]:
    """The collector's looks inside."""
    seen: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


def many_objects(monkeypatch: pytest.MonkeyPatch, modules: int) -> list[list[int]]:
    with uncollected():
        for index in range(modules):
            monkeypatch.setitem(sys.modules, f"made_for_a_test_{index}", types.ModuleType("made"))
        return [[index] for index in range(20_000)]


@pytest.mark.parametrize("modules, is_looked_at", [(0, True), (20, False)])
def test_what_was_made_with_many_modules_counts_as_old(
    monkeypatch: pytest.MonkeyPatch, modules: int, is_looked_at: bool
) -> None:
    gc.collect()
    with looks() as seen:
        kept = many_objects(monkeypatch, modules)
        more = [[index] for index in range(100)]
    assert bool(seen) == is_looked_at and len(kept) > len(more)
    assert gc.isenabled()


def test_what_a_program_froze_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        many_objects(monkeypatch, 20)
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_where_nothing_is_collected_nothing_begins_to_be() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
