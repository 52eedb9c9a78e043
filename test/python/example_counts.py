# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many examples hypothesis draws where each takes long: many compile a program."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

# `make test-all` sets it.
_ALL = os.environ.get("RELAX_MLIR_DRAWS", "") == "all"
_SHARE = 3
_FEWEST = 5


def draws(count: int, **options: Any) -> settings:
    """As many examples with `make test-all`, and a third else: other ones in each run."""
    return settings(max_examples=count if _ALL else max(count // _SHARE, min(count, _FEWEST)), **options)
