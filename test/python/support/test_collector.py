# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When garbage is looked for after work that makes many objects."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

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


def test_nothing_is_collected_inside_and_what_is_there_is_looked_at_behind() -> None:
    """Garbage that large things hang on is not kept for as long as what stays."""
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


def test_what_comes_with_modules_is_not_looked_at() -> None:
    """They stay; a look at all of their functions is what takes time."""
    name = "a_module_of_this_test"
    gc.collect()
    with looks() as seen:
        with uncollected():
            sys.modules[name] = ModuleType(name)
            kept = [[index] for index in range(20_000)]
        young = gc.get_objects(generation=0)
        assert len(young) < len(kept) // 10
        del sys.modules[name]
    assert len(seen) <= 2  # one look at what is young, which is little
    assert gc.isenabled() and not gc.get_freeze_count()


def test_what_was_frozen_stays_so() -> None:
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with uncollected():
            sys.modules["a_module_of_this_test"] = ModuleType("a_module_of_this_test")
        del sys.modules["a_module_of_this_test"]
        assert gc.get_freeze_count() >= count - 10  # some may have gone meanwhile
    finally:
        gc.unfreeze()
