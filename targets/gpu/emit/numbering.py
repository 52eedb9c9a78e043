# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emission of stream compaction: a prefix sum of a condition numbers the places that fulfil it."""

from __future__ import annotations

import operator
from collections.abc import Callable

from ....bindings.ir import Value
from ....emit.loops import store
from ....emit.numbers import Number
from .scanning import Scan

#: Called with a place, the count of matches before it, and the count including it. Both counts are i64.
Write = Callable[[Number, Number, Number], object]


def numbering(is_found: Callable[[Number], Number], write: Write, total: Value) -> Scan:
    """Return the scan of one row of places. It stores the number of matches in the first element of `total`."""
    return Scan(
        "i64",
        operator.add,
        0,
        lambda _, place: is_found(place).to("i64"),
        lambda _, place, before, behind: write(place, before, behind),
        lambda _, count: store(count, total, 0),
    )
