# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Number of examples, argument sets and slow tests to run: all, or with RELAX_MLIR_DRAW a part.

`make test` sets RELAX_MLIR_DRAW to a number that follows from the commit and selects the part; `make test-all` and
plain pytest do not set it. One of RELAX_MLIR_SHARE tests is drawn.
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
    """Return the number of examples to run of a total of `count`."""
    return math.ceil(count / _SHARE) if DRAW else count


def draws(count: int, **options: Any) -> settings:
    """Return hypothesis' settings for a number of examples."""
    return settings(max_examples=some(count), **options)


def is_drawn(test: str) -> bool:
    """Check whether a slow test is drawn in this run."""
    return not DRAW or random.Random(f"{DRAW} {test}").random() < 1 / _SHARE


def is_optimized(test: str) -> bool:
    """Check whether LLVM optimizes the programs of a test.

    Optimization takes half of the time and does not change the results.
    """
    return not DRAW or random.Random(f"{DRAW} {test} optimized").random() < 1 / _SHARE


def drawn(shares: Mapping[str, float]) -> set[str]:
    """Return the names of tests to run: some of each test's argument sets, and a stated share of the others."""
    tests: dict[str, list[str]] = {}
    for name in shares:
        tests.setdefault(name.partition("[")[0], []).append(name)
    return {name for test, sets in tests.items() for name in _drawn(test, sets, shares[sets[0]])}


def _drawn(test: str, sets: list[str], least: float) -> list[str]:
    chance = random.Random(f"{DRAW} {test}")
    share = max(len(sets) / _SHARE, least) if DRAW else len(sets)
    return chance.sample(sets, int(share + chance.random()))
