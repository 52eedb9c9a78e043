# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much runs of tests with many examples, sets of arguments or costs: all of it, or with RELAX_MLIR_DRAW a part.

`make test` sets it to another number each time, which says what is drawn; `make test-all` and pytest alone do not.
RELAX_MLIR_SHARE says of how many one is drawn.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Mapping
from typing import Any

from hypothesis import settings

DRAW = os.environ.get("RELAX_MLIR_DRAW", "")
_SHARE = int(os.environ.get("RELAX_MLIR_SHARE", "24"))


def some(count: int) -> int:
    """So many where all run."""
    return math.ceil(count / _SHARE) if DRAW else count


def draws(count: int, **options: Any) -> settings:
    """Of hypothesis' examples."""
    return settings(max_examples=some(count), **options)


def is_drawn(test: str) -> bool:
    """Of tests that take long each: whether this one runs."""
    return not DRAW or random.Random(f"{DRAW} {test}").random() < 1 / _SHARE


def is_optimized(test: str) -> bool:
    """Whether LLVM optimizes what a test compiles: it takes half of the time, and the results are the same."""
    return not DRAW or random.Random(f"{DRAW} {test} optimized").random() < 1 / _SHARE


def drawn(shares: Mapping[str, float]) -> set[str]:
    """The names of tests to run: of a test with many sets of arguments some, of others the share that is stated."""
    tests: dict[str, list[str]] = {}
    for name in shares:
        tests.setdefault(name.partition("[")[0], []).append(name)
    return {name for test, sets in tests.items() for name in _drawn(test, sets, shares[sets[0]])}


def _drawn(test: str, sets: list[str], least: float) -> list[str]:
    chance = random.Random(f"{DRAW} {test}")
    share = max(len(sets) / _SHARE, least) if DRAW else len(sets)
    return chance.sample(sets, int(share + chance.random()))
