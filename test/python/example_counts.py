# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of what compiles a program for each example `make test` runs: a third. `make test-all` runs all of it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any

from hypothesis import settings

# `make test-all` sets it.
ALL = os.environ.get("RELAX_MLIR_DRAWS", "") == "all"
#: What tells which ones: those of a run that failed are drawn again with it.
SEED = "RELAX_MLIR_SEED"
_SHARE = 3
_FEWEST = 5


def some(count: int) -> int:
    """So many with `make test-all`."""
    return count if ALL else max(count // _SHARE, min(count, _FEWEST))


def draws(count: int, **options: Any) -> settings:
    """Of hypothesis' examples."""
    return settings(max_examples=some(count), **options)


def is_optimized(test: str) -> bool:
    """Whether LLVM optimizes what a test compiles: it takes half of the time, and the results are the same."""
    return ALL or random.Random(f"{os.environ[SEED]} {test}").random() < 1 / _SHARE


def drawn(names: Iterable[str]) -> set[str]:
    """The names of tests to run: of a test with many sets of arguments some, other ones with each seed."""
    tests: dict[str, list[str]] = {}
    for name in names:
        tests.setdefault(name.partition("[")[0], []).append(name)
    return {name for test, sets in tests.items() for name in _drawn(test, sets)}


def _drawn(test: str, sets: list[str]) -> list[str]:
    return random.Random(f"{os.environ[SEED]} {test}").sample(sets, some(len(sets)))
